/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that settings*.c share: the table of flags (settings_table.c) and the parser of
 * single values (settings_value.c). Internal to settings*.c.
 */
#ifndef AGENT_SETTINGS_INTERNAL_H
#define AGENT_SETTINGS_INTERNAL_H

#include "agent/settings.h"

/* Kinds of values, which decide how a value is parsed and stored. */
enum setting_kind {
    KIND_NODE_NAME, /* DNS-1123 subdomain; the command `run` needs one, as settings.c checks */
    KIND_FOLDER,    /* absolute path, normalised */
    KIND_FILE,      /* path of a file that only this program opens; may be relative or empty */
    /* like KIND_FILE, but ':' is refused, because other programs accept a list of files */
    KIND_KUBECONFIG,
    KIND_TEXT,     /* [0-9A-Za-z.-]*, may be empty */
    KIND_UID,      /* [0-9A-Za-z-]*, may be empty */
    KIND_PORT,     /* -1 to 65535 */
    KIND_CHOICE,   /* one of `choices`, stored as its index */
    KIND_BOOL,     /* true, false, 1 or 0; a flag without a value means true */
    KIND_DURATION, /* Go duration text, stored in milliseconds */
    KIND_TAINT,    /* key:effect, or empty */
    KIND_ADDRESS,  /* IPv4 or IPv6 address, or empty */
    KIND_DRIVER,   /* DNS-1123 subdomain other than DRIVER_NAME */
    KIND_SHARES,   /* 1 to EFA_SHARES_MAX */
    KIND_POD,      /* namespace/name */
};

/* Largest number of values of a KIND_CHOICE. */
#define SETTING_CHOICES_MAX 4u
/* Largest number of words from which the operand of a command is chosen. */
#define COMMAND_OPERANDS_MAX 3u

/* One flag and its variable; texts are literals. */
struct setting_row {
    const char *flag;     /* including its dashes */
    const char *variable; /* NULL: the flag has no variable, as for flags of interactive commands */
    const char *default_value; /* parsed like a given value; NULL: the field stays all zero */
    const char *default_text;  /* the default as shown in --help, if default_value is NULL */
    const char *help;          /* one line of --help */
    enum setting_kind kind;
    uint16_t offset; /* offset of the field in struct settings */
    uint16_t size;   /* size of the field */
    /* bit N: the command with index N reads the setting; the bit of run is not used */
    uint16_t readers;
    uint32_t least_ms; /* KIND_DURATION: smallest valid value */
    /* KIND_CHOICE: the valid values; unused elements are NULL */
    const char *choices[SETTING_CHOICES_MAX];
};

/* Number of rows in the table of flags; each flag has one row. */
#define SETTINGS_COUNT 41u

/* One command; texts are literals. */
struct command_row {
    const char *name;
    /* one of these words must follow the command; unused elements are NULL */
    const char *operand[COMMAND_OPERANDS_MAX];
    /* word by which --help shows the path that must follow the command, as DIRECTORY; NULL: none */
    const char *directory;
    const char *help;    /* one line of --help, and the first of the command's own help */
    const char *more;    /* further lines of the command's own help, or NULL */
    const char *example; /* examples; NULL: the command has no help of its own */
};
/* The commands, indexed by enum settings_command; --help has the same order. */
extern const struct command_row command_rows[COMMANDS];

/* The row with this index; --help has the same order. index < SETTINGS_COUNT. */
const struct setting_row *setting_row(unsigned index);

/* The text of a value, and the flag or variable that it was given by, for error messages. */
struct setting_source {
    const char *name; /* flag or variable; borrowed from the row */
    struct view text;
};

/*
 * Parses the value source->text by row->kind, and stores it in the row's field of *out.
 * PEER_MALFORMED: the value is invalid, `why` gets one line, and *out is unchanged.
 */
MUST_USE enum status setting_store(struct settings *out, const struct setting_row *row,
                                   const struct setting_source *source, struct writer *why);

/* Whether the text is a value of a switch (KIND_BOOL); if so, sets *yes to that value. */
bool setting_truth(struct view text, bool *yes);

/* Appends `text` in quotes as one line: control characters become '?', a long text is cut. */
void setting_quote(struct writer *why, struct view text);

#endif

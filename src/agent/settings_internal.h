/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that settings*.c share: the table of flags (settings_table.c) and the parser of
 * single values (settings_value.c). Internal to settings*.c.
 */
#ifndef AGENT_SETTINGS_INTERNAL_H
#define AGENT_SETTINGS_INTERNAL_H

#include "agent/settings.h"

/* Kinds of values; the kind decides how a value is parsed and stored. */
enum setting_kind {
    /* DNS-1123 subdomain; the command `run` needs a node name, as settings.c checks */
    KIND_NODE_NAME,
    KIND_FOLDER, /* absolute path, which is stored normalised */
    KIND_FILE,   /* path of a file that only this program opens; may be relative or empty */
    /* like KIND_FILE, but ':' is refused, because other programs read it as a separator */
    KIND_KUBECONFIG,
    KIND_TEXT,     /* any text that matches [0-9A-Za-z.-]* */
    KIND_UID,      /* any text that matches [0-9A-Za-z-]*, such as a UID */
    KIND_PORT,     /* TCP port, or -1 for none: -1 to 65535 */
    KIND_CHOICE,   /* one of the words in `choices`, stored as its index */
    KIND_BOOL,     /* boolean: true, false, 1 or 0; a flag without a value means true */
    KIND_DURATION, /* duration as in Go, stored in milliseconds */
    KIND_TAINT,    /* taint as key:effect, or empty */
    KIND_ADDRESS,  /* IPv4 or IPv6 address, or empty */
    KIND_DRIVER,   /* name of a driver: DNS-1123 subdomain other than DRIVER_NAME */
    KIND_SHARES,   /* number of shares of a device: 1 to EFA_SHARES_MAX */
    KIND_POD,      /* pod as namespace/name */
    KIND_RESOURCES /* amounts of node resources as name=quantity,..., or empty */
};

/* Largest number of values of a setting of KIND_CHOICE. */
#define SETTING_CHOICES_MAX 4u
/* Largest number of words from which the operand of a command is chosen. */
#define COMMAND_OPERANDS_MAX 3u

/* A row of the table of flags: one flag and its environment variable. All strings are literals. */
struct setting_row {
    const char *flag; /* name of the flag, with its dashes */
    /* name of the environment variable; NULL: none, as for flags of interactive commands */
    const char *variable;
    /*
     * default value, as text that is parsed like a value from the user; NULL: the setting's field
     * stays all zero
     */
    const char *default_value;
    const char *default_text; /* text that --help shows as the default if default_value is NULL */
    const char *help;         /* text of the flag's line in --help */
    enum setting_kind kind;
    uint16_t offset; /* offset of the setting's field in struct settings, in bytes */
    uint16_t size;   /* size of the setting's field in bytes */
    /*
     * bit N: the command with index N in enum settings_command reads the setting; the bit of `run`
     * is not used
     */
    uint16_t readers;
    uint32_t least_ms; /* smallest valid value of a KIND_DURATION, in milliseconds */
    /* valid values of a KIND_CHOICE; unused elements are NULL */
    const char *choices[SETTING_CHOICES_MAX];
};

/* Number of rows in the table of flags; each flag has one row. */
#define SETTINGS_COUNT 43u

/* A row of the table of commands. All strings are literals. */
struct command_row {
    const char *name;
    /* words of which one must follow the command; unused elements are NULL */
    const char *operand[COMMAND_OPERANDS_MAX];
    /*
     * word that --help shows for the path that must follow the command, for example DIRECTORY;
     * NULL: no path follows
     */
    const char *directory;
    const char *help; /* line of the command in --help, which also begins the command's own help */
    const char *more; /* further lines of the command's own help; NULL: there are none */
    /* examples in the command's own help; NULL: the command has no help of its own */
    const char *example;
};
/* The commands, indexed by enum settings_command; --help lists them in this sequence. */
extern const struct command_row command_rows[COMMANDS];

/*
 * The row of the table of flags with this index, which must be below SETTINGS_COUNT; --help lists
 * the flags by increasing index.
 */
const struct setting_row *setting_row(unsigned index);

/*
 * The text of a setting's value, and for error messages the flag or environment variable that gave
 * it.
 */
struct setting_source {
    /* name of the flag or environment variable; borrowed from the row of the table of flags */
    const char *name;
    struct view text;
};

/*
 * Parses the value source->text by the kind of the row, and stores it in the row's field of *out.
 * PEER_MALFORMED: the value is invalid, `why` gets one line, and *out is unchanged.
 */
MUST_USE enum status setting_store(struct settings *out, const struct setting_row *row,
                                   const struct setting_source *source, struct writer *why);

/* Whether the text is a value of a switch (KIND_BOOL); if so, sets *yes to that value. */
bool setting_truth(struct view text, bool *yes);

/* Appends `text` in quotes as one line: control characters become '?', and a long text is cut. */
void setting_quote(struct writer *why, struct view text);

#endif

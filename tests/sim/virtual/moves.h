/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts which moves of the state machines of src/agent/ledger the schedules make, in memory that
 * all processes of the simulator share. The linker puts the counting in front of the moving
 * functions (--wrap); a program that is linked without that counts nothing.
 */
#ifndef TESTS_SIM_VIRTUAL_MOVES_H
#define TESTS_SIM_VIRTUAL_MOVES_H

/* Begins to count; ends the program where there is no shared memory. */
void moves_begin(void);
/* Prints the moves with their counts; returns how many legal ones have no count and no reason. */
unsigned moves_print(void);

#endif

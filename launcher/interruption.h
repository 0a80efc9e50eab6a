// What a run of one process says when it is ended by Ctrl-C (SIGINT) or told to end (SIGTERM).
// Ranks that are processes of their own: collectives/comm/termination.h.
#pragma once

#include <cstdint>
#include <string>

namespace spmd {

// From now on these signals are answered with one line, and end the process as they do otherwise.
// Those that whoever started it had switched off stay so.
void answer_interruption();

// "ended after step 3/10: ...", without the last newline; and the same said on standard error,
// which signal handlers may do. Not to be called before note_steps().
std::string how_far();
void say_how_far();

// For that line: `done` of `steps` steps are done. Called on one thread.
void note_steps(int64_t done, int64_t steps);

}  // namespace spmd

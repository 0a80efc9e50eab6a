// What a rank does when it is told to end (SIGTERM), as launchers do when another rank has died: it
// says what it waits for, first.
#pragma once

namespace spmd::comm {

// From now on SIGTERM is answered. Waits of this rank that do not end soon after it throw
// (waiting.h). A rank that goes on until the time is up says so, and ends with exit code 143.
// `more`, unless it is null, says more then; it is called in a signal handler.
void answer_termination(int rank, void (*more)() = nullptr);

// From now on a rank that is told to end says nothing of it: why it ends has been said, or is about
// to be.
void answer_termination_silently();

// Whether SIGTERM came so long ago that what is waited for will not come.
bool termination_is_due();

}  // namespace spmd::comm

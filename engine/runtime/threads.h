// CPU threads for computing; a setting of the host build, of no effect on a GPU.
#pragma once

namespace lathe {

// First in main. OpenMP reads how long its idle threads spin when the process starts, and by default they
// spin so long that a loader thread or any other busy process slows a step several times over. Unless the
// user has set it (OMP_WAIT_POLICY or GOMP_SPINCOUNT), this sets a short spin and starts the program anew.
void limit_spinning(char** argv);

// How many threads kernels and the vendor library compute with; 0: one a usable core. Before the first stream
// is made.
void set_threads(int count);

}  // namespace lathe

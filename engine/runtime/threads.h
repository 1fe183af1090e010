// CPU threads for computing; a setting of the host build, of no effect on a GPU.
#pragma once

namespace lathe {

// How many threads kernels and the vendor library compute with; 0: one a usable core. Before the first stream is made.
void set_threads(int count);

}  // namespace lathe

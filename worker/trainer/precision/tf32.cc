#include <ATen/ATen.h>

#include "worker/trainer/precision/precisions.h"

namespace gt::trainer {

// A setting of the libraries that compute on a GPU; on a CPU nothing reads it.
std::unique_ptr<Precision> MakeTf32() {
  at::globalContext().setAllowTF32CuBLAS(true);
  at::globalContext().setAllowTF32CuDNN(true);
  return MakeFp32();
}

}  // namespace gt::trainer

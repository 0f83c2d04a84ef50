#include "worker/trainer/kernels/kernels.h"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define GT_VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define GT_VECTOR_CLONES
#endif

namespace gt::trainer {
namespace {

GT_VECTOR_CLONES void Add(float* __restrict out, const float* __restrict in, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] += in[i];
}
GT_VECTOR_CLONES void Add(double* __restrict out, const double* __restrict in, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] += in[i];
}
GT_VECTOR_CLONES void Add(int32_t* __restrict out, const int32_t* __restrict in, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] += in[i];
}
GT_VECTOR_CLONES void Add(int64_t* __restrict out, const int64_t* __restrict in, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] += in[i];
}

}  // namespace

template <typename T>
void AddInto(T* out, const T* in, int64_t count) {
  Add(out, in, count);
}
template void AddInto<float>(float*, const float*, int64_t);
template void AddInto<double>(double*, const double*, int64_t);
template void AddInto<int32_t>(int32_t*, const int32_t*, int64_t);
template void AddInto<int64_t>(int64_t*, const int64_t*, int64_t);

GT_VECTOR_CLONES void PoolReluRow(const float* top, const float* bottom, int64_t width, int64_t channels,
                                  float* __restrict out, uint8_t* __restrict which) {
  for (int64_t x = 0; x < width; ++x) {
    const float *a = top + 2 * x * channels, *b = a + channels, *c = bottom + 2 * x * channels, *d = c + channels;
    for (int64_t i = 0; i < channels; ++i) {
      float best = a[i];
      int32_t code = 0;
      code = b[i] > best ? 1 : code;
      best = b[i] > best ? b[i] : best;
      code = c[i] > best ? 2 : code;
      best = c[i] > best ? c[i] : best;
      code = d[i] > best ? 3 : code;
      best = d[i] > best ? d[i] : best;
      out[i] = best > 0 ? best : 0;
      which[i] = static_cast<uint8_t>(best > 0 ? code : kPoolNone);
    }
    out += channels, which += channels;
  }
}

GT_VECTOR_CLONES void PoolReluRowBackward(const float* gradient, const uint8_t* which, int64_t width, int64_t channels,
                                          float* __restrict top, float* __restrict bottom) {
  for (int64_t x = 0; x < width; ++x) {
    float *a = top + 2 * x * channels, *c = bottom + 2 * x * channels;
    for (int64_t i = 0; i < channels; ++i) {
      float g = gradient[i];
      int32_t code = which[i];
      a[i] = code == 0 ? g : 0;
      a[channels + i] = code == 1 ? g : 0;
      c[i] = code == 2 ? g : 0;
      c[channels + i] = code == 3 ? g : 0;
    }
    gradient += channels, which += channels;
  }
}

}  // namespace gt::trainer

// Plain loops over memory that are worth compiling for vectors (-O3, and for AVX2 where there is one).
#pragma once
#include <cstdint>

namespace gt::trainer {

// out[i] += in[i]. No aliasing.
template <typename T>
void AddInto(T* out, const T* in, int64_t count);
extern template void AddInto<float>(float*, const float*, int64_t);
extern template void AddInto<double>(double*, const double*, int64_t);
extern template void AddInto<int32_t>(int32_t*, const int32_t*, int64_t);
extern template void AddInto<int64_t>(int64_t*, const int64_t*, int64_t);

// One row of relu(max_pool2d(x, 2)) in channels-last: `width` output pixels of `channels` floats from two input rows.
// which[i] says where the largest stood (0..3, the first of equals), or kPoolNone where ReLU cut it off.
constexpr uint8_t kPoolNone = 4;
void PoolReluRow(const float* top, const float* bottom, int64_t width, int64_t channels, float* out, uint8_t* which);
// Its gradient; writes both input rows fully.
void PoolReluRowBackward(const float* gradient, const uint8_t* which, int64_t width, int64_t channels, float* top,
                         float* bottom);

}  // namespace gt::trainer

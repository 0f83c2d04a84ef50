#include "worker/trainer/models/pool_relu.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cstdint>

#include "worker/trainer/kernels/kernels.h"

namespace gt::trainer {
namespace {

struct Shape {
  int64_t n, c, h, w;  // of the input
};

class Fused : public torch::autograd::Function<Fused> {
 public:
  using Context = torch::autograd::AutogradContext;
  static at::Tensor forward(Context* context, const at::Tensor& x) {
    Shape s{x.size(0), x.size(1), x.size(2), x.size(3)};
    int64_t rows = s.h / 2, width = s.w / 2;
    at::Tensor out = at::empty({s.n, s.c, rows, width}, x.options().memory_format(at::MemoryFormat::ChannelsLast));
    at::Tensor which = at::empty({s.n, rows, width, s.c}, at::kByte);
    const float* in = x.const_data_ptr<float>();
    float* to = out.mutable_data_ptr<float>();
    uint8_t* codes = which.mutable_data_ptr<uint8_t>();
    int64_t in_row = s.w * s.c, out_row = width * s.c;
    for (int64_t image = 0; image < s.n; ++image) {
      for (int64_t row = 0; row < rows; ++row) {
        const float* top = in + (image * s.h + 2 * row) * in_row;
        PoolReluRow(top, top + in_row, width, s.c, to, codes);
        to += out_row, codes += out_row;
      }
    }
    context->save_for_backward({which});
    context->saved_data["shape"] = x.sizes().vec();
    return out;
  }

  static torch::autograd::variable_list backward(Context* context, torch::autograd::variable_list gradients) {
    at::Tensor which = context->get_saved_variables()[0];
    std::vector<int64_t> sizes = context->saved_data["shape"].toIntVector();
    Shape s{sizes[0], sizes[1], sizes[2], sizes[3]};
    at::Tensor gradient = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    at::Tensor back = at::empty(sizes, gradient.options().memory_format(at::MemoryFormat::ChannelsLast));
    const float* from = gradient.const_data_ptr<float>();
    const uint8_t* codes = which.const_data_ptr<uint8_t>();
    float* to = back.mutable_data_ptr<float>();
    int64_t rows = s.h / 2, width = s.w / 2, in_row = s.w * s.c, out_row = width * s.c;
    for (int64_t image = 0; image < s.n; ++image) {
      for (int64_t row = 0; row < rows; ++row) {
        float* top = to + (image * s.h + 2 * row) * in_row;
        PoolReluRowBackward(from, codes, width, s.c, top, top + in_row);
        from += out_row, codes += out_row;
      }
    }
    return {back};
  }
};

}  // namespace

at::Tensor PoolRelu(const at::Tensor& x) {
  bool fits = x.device().is_cpu() && x.scalar_type() == at::kFloat && x.dim() == 4 && x.size(2) % 2 == 0 &&
              x.size(3) % 2 == 0 && x.is_contiguous(at::MemoryFormat::ChannelsLast);
  return fits ? Fused::apply(x) : at::relu(at::max_pool2d(x, 2));
}

}  // namespace gt::trainer

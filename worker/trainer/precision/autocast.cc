#include "worker/trainer/precision/autocast.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>

#include "worker/trainer/precision/precisions.h"

namespace gt::trainer {
namespace {

class Autocast : public Precision {
 public:
  Autocast(at::ScalarType type, bool scales_loss) : type_(type), scales_loss_(scales_loss) {}
  at::Tensor Forward(Model& model, const at::Tensor& inputs, bool training) override {
    at::Tensor logits;
    {
      AutocastGuard guard(inputs.device().type(), type_);
      logits = model.Forward(inputs, training);
    }
    return logits.to(at::kFloat);  // the loss is computed in fp32
  }
  bool scales_loss() const override { return scales_loss_; }

 private:
  at::ScalarType type_;
  bool scales_loss_;
};

}  // namespace

AutocastGuard::AutocastGuard(c10::DeviceType device, at::ScalarType type)
    : device_(device), was_enabled_(at::autocast::is_autocast_enabled(device)),
      was_type_(at::autocast::get_autocast_dtype(device)) {
  at::autocast::set_autocast_enabled(device, true);
  at::autocast::set_autocast_dtype(device, type);
  at::autocast::increment_nesting();
}

AutocastGuard::~AutocastGuard() {
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_dtype(device_, was_type_);
  at::autocast::set_autocast_enabled(device_, was_enabled_);
}

std::unique_ptr<Precision> MakeBf16() { return std::make_unique<Autocast>(at::kBFloat16, /*scales_loss=*/false); }
std::unique_ptr<Precision> MakeFp16() { return std::make_unique<Autocast>(at::kHalf, /*scales_loss=*/true); }

}  // namespace gt::trainer

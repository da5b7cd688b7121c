#include "starling/strategy/centre/shared_centre.h"

#include "starling/core/shared_update.h"

namespace starling::strategy {

Task<> SharedCentre::pull(Data model, float alpha, Data difference) {
  co_await model_.visit([=](Data centre, Slice place) {
    if (centre.ghost()) return;
    elastic_difference(floats(centre), floats(model.part(place.begin, place.end)), alpha,
                       floats(difference.part(place.begin, place.end)));
  });
}

Task<> SharedCentre::pull_both(Data model, float alpha, Data) {
  co_await model_.visit([=](Data centre, Slice place) {
    if (centre.ghost()) return;
    elastic_step(floats(centre), floats(model.part(place.begin, place.end)), alpha);
  });
}

Task<> SharedCentre::leave() {
  model_.leave();
  co_return;
}

}  // namespace starling::strategy

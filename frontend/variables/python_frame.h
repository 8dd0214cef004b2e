// The frame of the function at a point of Python.
#pragma once

#include "base/arena.h"
#include "frontend/hir/hir.h"
#include "frontend/points/resolved_point.h"
#include "languages/python/layouts.h"

namespace sonde {

// The frame's address. If the point is a return and the version is before 3.11, it is known only at the entry of the
// interpreter's loop. At an exception, the register has a frame object.
inline hir::Expr* python_frame(Arena& arena, Range range, const ResolvedPoint& point, const sonde_python& layout) {
    hir::Expr* frame = arena.make<hir::Register>(range, point.python->place.frame);
    const unsigned offset = python_exception_layout(layout.version).object_frame;
    if (point.python->event != PythonPoint::Exception || offset == 0)
        return frame;
    hir::Expr* place =
        arena.make<hir::Binary>(range, hir::BinaryOp::Add, frame, arena.make<hir::ConstLong>(range, offset));
    auto* out = arena.make<hir::Load>(range, place, uint32_t{8}, false);
    out->user = true;
    return out;
}

} // namespace sonde

// Which texts that are printed are the script's own.
#pragma once

#include "frontend/sema/hir.h"

namespace sonde {

// Marks the directives of printf's whose argument is the script's own: conversion `S` or `C` (plan::Directive). To be
// called when every expression has a type.
void mark_own_texts(hir::Program& program);

} // namespace sonde

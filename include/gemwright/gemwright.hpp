// Everything of the public API.
#pragma once

#if __cplusplus < 202002L
#error "gemwright needs C++20 or later: compile with -std=c++20"
#endif

#include <gemwright/device.hpp>
#include <gemwright/errors.hpp>
#include <gemwright/plan.hpp>
#include <gemwright/planner.hpp>
#include <gemwright/problem.hpp>
#include <gemwright/store.hpp>
#include <gemwright/types.hpp>
#include <gemwright/weight_format.hpp>
#include <gemwright/weights.hpp>

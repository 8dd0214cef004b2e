// A fuzzer's input as a file, for functions that open paths.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "base/check.h"
#include "base/fd.h"

class MemoryFile {
  public:
    MemoryFile(const uint8_t* data, size_t size) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
        CHECK(fd_.get() >= 0);
        CHECK(write(fd_.get(), data, size) == static_cast<ssize_t>(size));
    }
    std::string path() const { return fmt::format("/proc/self/fd/{}", fd_.get()); }

  private:
    sonde::Fd fd_;
};

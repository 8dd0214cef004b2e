// The machines for which scripts can be translated: their names, and the images of their kernels.
#include <gtest/gtest.h>

#include <elf.h>
#include <linux/btf.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "arch/architecture.h"
#include "base/fd.h"
#include "base/kernel_files.h"

namespace sonde {
namespace {

TEST(Machines, AreFoundByTheirNames) {
    EXPECT_EQ(find_machine("amd64"), architecture_of(EM_X86_64, false));
    EXPECT_EQ(find_machine("x86_64"), architecture_of(EM_X86_64, false));
    EXPECT_EQ(find_machine("arm64"), architecture_of(EM_AARCH64, false));
    EXPECT_EQ(find_machine("aarch64"), architecture_of(EM_AARCH64, false));
    EXPECT_EQ(find_machine("i386"), nullptr); // no kernel of this architecture
    EXPECT_EQ(find_machine(""), nullptr);
    for (const Architecture* machine : machines())
        EXPECT_EQ(architecture_of(machine->machine(), false), machine);
}

TEST(Machines, RunTheirPrograms) {
    const Architecture &wide = *find_machine("amd64"), &narrow = *architecture_of(EM_386, true),
                       &other = *find_machine("arm64");
    EXPECT_TRUE(wide.runs(wide) && wide.runs(narrow) && !wide.runs(other));
    EXPECT_TRUE(other.runs(other) && !other.runs(narrow) && !other.runs(wide));
}

// A kernel's memory without ELF headers: text, the notes of the vDSO and of the kernel, and BTF.
struct FlatImage {
    std::string bytes = std::string("MZ\0\0", 4) + std::string(4092, 'x') + "Linux version 6.1.2-flat (a@b) #1" + '\0';

    void add_note(char digit) {
        bytes.resize((bytes.size() + 3) / 4 * 4);
        bytes += std::string("\4\0\0\0\24\0\0\0\3\0\0\0GNU\0", 16) + std::string(20, digit);
    }
    void add_types(uint32_t strings) {
        btf_header header{};
        header.magic = BTF_MAGIC;
        header.version = BTF_VERSION;
        header.hdr_len = sizeof header;
        header.type_len = header.str_off = 80000;
        header.str_len = strings;
        bytes.resize((bytes.size() + 3) / 4 * 4);
        bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
        bytes.append(80100, '\0');
    }
};

// Reads the image as a kernel's file.
Result<KernelFiles> read_image(const FlatImage& image) {
    const std::string path = testing::TempDir() + "/vmlinuz-" + std::to_string(getpid());
    EXPECT_TRUE(write_file(path, image.bytes).ok());
    Result<KernelFiles> kernel = find_kernel_files(path);
    std::filesystem::remove(path);
    return kernel;
}

TEST(KernelFiles, ReadsAFlatImage) {
    FlatImage image;
    image.add_note('\1');
    image.bytes.append(1 << 17, 'x');
    image.add_note('\2');
    image.add_types(100);
    const Result<KernelFiles> kernel = read_image(image);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    EXPECT_EQ(kernel->release, "6.1.2-flat");
    EXPECT_EQ(kernel->build_id, "0202020202020202020202020202020202020202");
    EXPECT_EQ(kernel->types.size(), sizeof(btf_header) + 80100);
    EXPECT_FALSE(kernel->is_unknown());
}

TEST(KernelFiles, RefusesAFlatImageWithoutTypes) {
    FlatImage image;
    image.add_types(1000); // more than the image has
    EXPECT_FALSE(read_image(image).ok());
}

} // namespace
} // namespace sonde

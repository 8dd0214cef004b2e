// The index is a hash table: slots with the units' ids, slots with the numbers of their rows, the columns' sections,
// and then two numbers for each row and column, the offset and the size of a part. All of it is read once into a map,
// so that damaged hash slots cannot lead to endless searches.
#include "frontend/dwarf/split_package.h"

#include <utility>

#include <fmt/format.h>

#include "base/byte_cursor.h"
#include "base/debug/open_dwarf.h"

namespace sonde {
namespace {

constexpr uint64_t number_size = 4, id_size = 8;

// DW_SECT_*, which differ between the versions. nullopt: sonde does not need the section.
std::optional<SplitSection> section_of(uint32_t number, int version) {
    switch (number) {
    case 1:
        return SplitSection::Info;
    case 2:
        return version < 5 ? std::optional(SplitSection::Types) : std::nullopt;
    case 3:
        return SplitSection::Abbrev;
    case 4:
        return SplitSection::Line;
    case 5:
        return version < 5 ? SplitSection::Loc : SplitSection::LocLists;
    case 6:
        return SplitSection::StrOffsets;
    case 8:
        return version < 5 ? std::nullopt : std::optional(SplitSection::RngLists);
    default:
        return std::nullopt;
    }
}

} // namespace

Result<SplitIndex> SplitIndex::parse(std::string_view bytes) {
    SplitIndex out;
    if (bytes.empty())
        return out;
    ByteCursor cursor(bytes);
    const auto word = cursor.take<uint32_t>(); // since DWARF 5, the version has two bytes, and padding follows
    const int version = word == 2 ? 2 : static_cast<uint16_t>(word);
    const uint64_t columns = cursor.take<uint32_t>(), rows = cursor.take<uint32_t>(), slots = cursor.take<uint32_t>();
    if (!cursor.failed() && version != 2 && version != 5)
        return Error(fmt::format("its index has the unknown version {}", version));
    constexpr uint64_t most_columns = 64;
    const std::string_view ids = cursor.take_bytes(slots * id_size);
    const std::string_view numbers = cursor.take_bytes(slots * number_size);
    if (columns > most_columns)
        cursor.fail();
    for (uint64_t i = 0; i < columns && !cursor.failed(); i++)
        out.columns_.push_back(section_of(cursor.take<uint32_t>(), version));
    if (cursor.failed() || rows > cursor.rest() || rows * columns * number_size * 2 > cursor.rest())
        return Error("its index is damaged");
    for (std::vector<uint32_t>* part : {&out.offsets_, &out.sizes_})
        for (uint64_t i = 0; i < rows * columns; i++)
            part->push_back(cursor.take<uint32_t>());
    ByteCursor id(ids), row(numbers);
    for (uint64_t i = 0; i < slots; i++) {
        const auto unit = id.take<uint64_t>();
        const auto number = row.take<uint32_t>(); // from 1 on; 0 is an empty slot
        if (number > rows)
            return Error("its index is damaged");
        if (number != 0)
            out.rows_.emplace(unit, number - 1);
    }
    return out;
}

std::vector<uint64_t> SplitIndex::units() const {
    std::vector<uint64_t> out;
    for (const auto& [unit, row] : rows_)
        out.push_back(unit);
    return out;
}

std::optional<SplitViews> SplitIndex::parts(uint64_t unit, const SplitViews& package) const {
    const auto row = rows_.find(unit);
    if (row == rows_.end())
        return std::nullopt;
    SplitViews out;
    out[SplitSection::Str] = package[SplitSection::Str]; // which all units share
    for (size_t i = 0; i < columns_.size(); i++) {
        if (!columns_[i])
            continue;
        const size_t place = row->second * columns_.size() + i;
        ByteCursor section(package[*columns_[i]]);
        section.seek(offsets_[place]);
        out[*columns_[i]] = section.take_bytes(sizes_[place]);
        if (section.failed())
            return std::nullopt;
    }
    return out;
}

Result<std::unique_ptr<SplitPackage>> SplitPackage::open(const std::string& path) {
    Result<ElfFile> file = ElfFile::open_debug_information(path);
    if (!file)
        return std::move(file).error();
    if (std::string why = why_not_unpack(*file); !why.empty())
        return Error(std::move(why));
    std::unique_ptr<SplitPackage> out(new SplitPackage(*std::move(file)));
    if (!out->file_.find_section(".debug_cu_index"))
        return Error(fmt::format("`{}` is not a package of split debug information: it has no .debug_cu_index", path));
    for (const auto& [name, index] : {std::pair(".debug_cu_index", &out->units_), {".debug_tu_index", &out->types_}}) {
        Result<SplitIndex> parsed = SplitIndex::parse(read_debug_section(out->file_, name));
        if (!parsed)
            return Error(fmt::format("cannot read `{}`: {}", path, parsed.error().message));
        *index = *std::move(parsed);
    }
    if (std::optional<SplitViews> views = view_split_sections(out->file_)) {
        out->sections_ = *views;
    } else {
        out->unpacked_ = read_split_sections(out->file_);
        out->sections_ = views_of(out->unpacked_);
    }
    return out;
}

bool SplitPackage::add_to(SplitLinker& out, uint64_t unit) const {
    const std::optional<SplitViews> parts = units_.parts(unit, sections_);
    if (!parts || !out.add(*parts))
        return false;
    // Types can refer to more types.
    for (bool is_complete = false; !is_complete;) {
        is_complete = true;
        for (uint64_t type : std::vector<uint64_t>(out.references().begin(), out.references().end())) {
            const std::optional<SplitViews> of_type =
                out.type_units().contains(type) ? std::nullopt : types_.parts(type, sections_);
            if (!of_type)
                continue;
            is_complete = false;
            // The part must have the unit that the index promises, or this would not end.
            if (!out.add(*of_type) || !out.type_units().contains(type))
                return false;
        }
    }
    return true;
}

} // namespace sonde

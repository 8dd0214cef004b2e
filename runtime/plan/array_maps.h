// How the kernel's hash maps store the elements of arrays.
//
// The kernel hashes and compares all bytes of a map's key. A string of the maximum size has 512 bytes, most of them
// NULs after a short text, so this took longer than the rest of a handler. Therefore a key with such a string is stored
// in another way:
//
//     the map's key     the identity of the array's key: a hash of 128 bits (key_identity.h)
//     the value         the insertion number and the payload, as always (data.h), and then the key
//
// Two keys can have the same identity. So a search compares the key of the element that it found, and an element whose
// identity belongs to another key cannot be created, which is an error.
//
// Arrays that wrap are stored with their keys, because the order of their elements is kept in a second map.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/plan/data.h"
#include "runtime/plan/identity.h"

namespace sonde::plan {

// The largest string of a key, in bytes, that is padded and stored in the map's key.
constexpr uint32_t short_key = 64;
// Whether the map of this array has identities as its keys.
bool has_identities(const Global& global);
// The sizes of the array's map, in bytes.
uint32_t map_key_size(const Global& global);
uint32_t map_value_size(const Global& global);
// The identity of a key. Bytes after a string's NUL are ignored.
sonde_identity identity_of(const Global& global, const std::string& key);

} // namespace sonde::plan

"""A loader of object code: the addresses of the functions in it, once its sections are placed and relocated.

LLVM has a loader, but importing it takes longer than tracing and planning a hundred equations. What our kernels need of
one is little: LLVM writes them with absolute 64-bit addresses, code and constants only. This reads ELF for x86-64;
everything else, in the file or about the platform, is an `UnsupportedObjectError`, and is left to LLVM's own.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys
from functools import cache
from typing import Any, NamedTuple

PAGE = mmap.PAGESIZE
_IDENTIFICATION = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian, version 1
_RELOCATABLE, _X86_64 = 1, 62
_SECTION, _SYMBOL, _RELOCATION = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ"), struct.Struct("<QQq")
_PROGBITS, _SYMTAB, _RELA, _NOBITS = 1, 2, 4, 8
_WRITE, _ALLOC, _TLS = 0x1, 0x2, 0x400
_UNDEFINED, _FIRST_RESERVED = 0, 0xFF00
_ABSOLUTE, _RELATIVE, _CALL = 1, 2, 4  # R_X86_64_64, _PC32, _PLT32

_loaded: list[Any] = []  # the memory of all that was loaded: it stays for the life of the process


class UnsupportedObjectError(RuntimeError):
    """The object code, or the platform, is not of the kind that this loader knows."""


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


def is_possible() -> bool:
    """Whether the platform is one that this loader knows."""
    return sys.platform == "linux" and os.uname().machine == "x86_64" and sys.byteorder == "little"


def load(code: bytes) -> dict[str, int]:
    """Place object code in memory; the addresses of the functions it defines, by name.

    UnsupportedObjectError if that takes more than this loader knows; nothing stays loaded then.
    """
    if not is_possible():
        raise UnsupportedObjectError(f"{sys.platform} has another format")
    try:
        return _load(code)
    except (struct.error, IndexError, ValueError, OSError) as error:
        raise UnsupportedObjectError(f"not as expected: {error}") from error


def _load(code: bytes) -> dict[str, int]:
    kind, machine = struct.unpack_from("<HH", code, 16)
    if not code.startswith(_IDENTIFICATION) or (kind, machine) != (_RELOCATABLE, _X86_64):
        raise UnsupportedObjectError("not an object file for x86-64")
    (table,) = struct.unpack_from("<Q", code, 40)
    entry_size, n_sections = struct.unpack_from("<HH", code, 58)
    if entry_size != _SECTION.size:
        raise UnsupportedObjectError(f"section headers of {entry_size} bytes")
    sections = [_Section(*_SECTION.unpack_from(code, table + k * _SECTION.size)) for k in range(n_sections)]
    offsets, size = _places(sections)
    memory = mmap.mmap(
        -1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE
    )
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for k, offset in offsets.items():
        section = sections[k]
        if section.kind == _PROGBITS:
            memory[offset : offset + section.size] = code[section.offset : section.offset + section.size]
    functions, addresses = _symbols(code, sections, {k: base + offset for k, offset in offsets.items()})
    for section in sections:
        if section.kind == _RELA and section.info in offsets:
            _relocate(code, section, memory, offsets[section.info], base, addresses)
    if _protect()(base, -(-max(size, 1) // PAGE) * PAGE, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
        raise UnsupportedObjectError("memory cannot be made executable")
    _loaded.append(memory)
    return functions


def _places(sections: list[_Section]) -> tuple[dict[int, int], int]:
    """Where each section that is needed at run time goes, and how many bytes all take."""
    offsets: dict[int, int] = {}
    size = 0
    for k, section in enumerate(sections):
        if not section.flags & _ALLOC or not section.size:
            continue
        if section.kind not in (_PROGBITS, _NOBITS) or section.flags & (_WRITE | _TLS) or section.alignment > PAGE:
            raise UnsupportedObjectError(f"a section of kind {section.kind} with flags {section.flags:#x}")
        alignment = max(section.alignment, 1)
        offsets[k] = -(-size // alignment) * alignment
        size = offsets[k] + section.size
    return offsets, size


def _symbols(code: bytes, sections: list[_Section], places: dict[int, int]) -> tuple[dict[str, int], list[int | str]]:
    """What the object code defines by name, and of each symbol the address, or the name if it is defined elsewhere."""
    tables = [section for section in sections if section.kind == _SYMTAB]
    if len(tables) != 1:
        raise UnsupportedObjectError(f"{len(tables)} tables of symbols")
    (table,) = tables
    names = sections[table.link]
    functions: dict[str, int] = {}
    addresses: list[int | str] = []
    for at in range(table.offset, table.offset + table.size, _SYMBOL.size):
        begin, _, _, section, value, _ = _SYMBOL.unpack_from(code, at)
        begin += names.offset
        name = code[begin : code.index(b"\0", begin)].decode()
        if section == _UNDEFINED or section >= _FIRST_RESERVED:
            # What is absolute or common is not expected in a relocation: no such name will be found.
            addresses.append(name if section == _UNDEFINED else "")
        else:
            addresses.append(places[section] + value if section in places else "")
            if name and section in places:
                functions[name] = places[section] + value
    return functions, addresses


def _relocate(
    code: bytes, section: _Section, memory: mmap.mmap, offset: int, base: int, addresses: list[int | str]
) -> None:
    for at in range(section.offset, section.offset + section.size, _RELOCATION.size):
        place, info, addend = _RELOCATION.unpack_from(code, at)
        found = addresses[info >> 32]
        target = (_elsewhere(found) if isinstance(found, str) else found) + addend
        kind = info & 0xFFFFFFFF
        if kind == _ABSOLUTE:
            struct.pack_into("<Q", memory, offset + place, target)
        elif kind in (_RELATIVE, _CALL):  # struct.error where it is too far away
            struct.pack_into("<i", memory, offset + place, target - (base + offset + place))
        else:
            raise UnsupportedObjectError(f"a relocation of kind {kind}")


@cache
def _elsewhere(name: str) -> int:
    """The address of a function or object of Python, or of the C library that this process uses."""
    try:
        return ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, name))
    except ValueError as error:
        raise UnsupportedObjectError(f"no symbol {name!r}") from error


@cache
def _protect() -> Any:
    function = ctypes.CDLL(None).mprotect
    function.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return function

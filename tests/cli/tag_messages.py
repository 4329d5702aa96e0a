#!/usr/bin/env python3
"""Puts the tag of field 1 before the first and of field 2 before every other length-prefixed message of a file, so
that the whole is one protocol buffer message. Fails where a length goes beyond the end."""
import sys

data = open(sys.argv[1], "rb").read()
out, at, tag = bytearray(), 0, 0x0A
while at < len(data):
    start, length, shift = at, 0, 0
    while True:
        byte = data[at]
        length |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            break
    if at + length > len(data):
        sys.exit("a message is cut short")
    out.append(tag)
    out += data[start : at + length]
    at, tag = at + length, 0x12
sys.stdout.buffer.write(out)

"""Words of each page of a PDF, by the fonts' own tables of characters."""

import re
import zlib

_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}


def pages_of(file: bytes) -> list[str]:
    """Return the words of each page, including its pictures: one line for each run of text, spaces unchanged."""
    objects = dict(re.findall(rb"\n(\d+) 0 obj\n(.*?)\nendobj", file, re.DOTALL))
    maps = {name: _characters(_stream(objects[name])) for name in objects if b"beginbfchar" in _stream(objects[name])}

    def words(place: bytes, content: bytes) -> str:
        """Return the text of one stream of drawing, and of the drawings that it places."""
        apart = re.search(rb"/Resources (\d+) 0 R", objects[place])
        resources = objects[apart[1]] if apart else objects[place]
        tables = {
            name: maps[re.search(rb"/ToUnicode (\d+)", objects[font])[1]] for name, font in _named(resources, b"/Font")
        }
        forms, font, lines = dict(_named(resources, b"/XObject")), {}, ""
        token = re.compile(rb"/(\w+) [\d.]+ Tf|/(\w+) Do|((?:\((?:\\.|[^\\()])*\)|[-\d.\s\[\]])+)T[jJ]", re.DOTALL)
        for chosen, placed, shown in token.findall(content):
            if chosen:
                font = tables[chosen]
            elif placed and placed in forms and b"/Subtype/Form" in objects[forms[placed]]:
                lines += words(forms[placed], _stream(objects[forms[placed]]))
            else:
                glyphs = b"".join(map(_unescaped, re.findall(rb"\(((?:\\.|[^\\()])*)\)", shown, re.DOTALL)))
                codes = [int.from_bytes(glyphs[i : i + 2]) for i in range(0, len(glyphs), 2)]
                lines += "".join(font[code] for code in codes) + "\n"
        return lines

    made = []
    for name, each in objects.items():
        if re.search(rb"/Type/Page\b", each):
            content = re.search(rb"/Contents (\d+)", each)
            made.append(words(name, _stream(objects[content[1]])))
    return made


def _named(resources: bytes, kind: bytes) -> list[tuple[bytes, bytes]]:
    found = re.search(kind + rb"<<(.*?)>>", resources, re.DOTALL)
    return re.findall(rb"/(\w+) (\d+) 0 R", found[1]) if found else []


def _stream(part: bytes) -> bytes:
    found = re.search(rb"stream\r?\n(.*)\r?\nendstream", part, re.DOTALL)
    if found is None:
        return b""
    return zlib.decompress(found[1]) if b"/FlateDecode" in part[: found.start()] else found[1]


def _characters(table: bytes) -> dict[int, str]:
    pairs = re.findall(rb"<(\w{4})> <(\w+)>", table)
    return {int(code, 16): bytes.fromhex(text.decode()).decode("utf-16-be") for code, text in pairs}


def _unescaped(text: bytes) -> bytes:
    def char(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes([int(code, 8)]) if code.isdigit() else _ESCAPES.get(code, code)

    return re.sub(rb"\\([0-7]{1,3}|.)", char, text, flags=re.DOTALL)

"""Text in code pages: read as its UTF-8 is, each byte by itself, or refused by line."""

import pytest
from golden.command import dpcore

from dpcore import Schema, fit
from dpcore.errors import DataError, InvalidInputError
from dpcore.plugin.parts import Dataset
from dpcore_tables.readers import pieces
from dpcore_tables.readers.code_pages import _PAGES, to_utf8
from dpcore_tables.schemas import schema_template

COLUMNS = {
    "größe": {"kind": "numeric", "lower": 0, "upper": 9},
    "stadt": {"kind": "categorical", "categories": ["Zürich", "Genève", "naïve, Ä"]},
    "y": {"kind": "label", "classes": ["ja", "nö"]},
}
TEXT = 'größe,stadt,y\n3,Zürich,nö\n4,Genève,ja\n5,"naïve, Ä",nö\n6,Bern,ja\n'


def schema(encoding="cp1252"):
    return Schema.from_dict({"columns": COLUMNS, "encoding": encoding})


def rows(data):
    return data.X.toarray().tolist(), data.y.tolist()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "f.csv"


@pytest.mark.parametrize("encoding", ["cp1252", "iso8859-15", "CP850", "mac-roman"])
def test_a_code_page_is_read_as_utf8_is(file, encoding, monkeypatch):
    file.write_text(TEXT, "utf-8")
    wanted = rows(Dataset.from_file(file, schema("utf-8")))
    file.write_bytes(TEXT.encode(encoding))
    for size in (pieces.PIECE_BYTES, 7, 16):
        monkeypatch.setattr(pieces, "PIECE_BYTES", size)
        assert rows(Dataset.from_file(file, schema(encoding))) == wanted
    template = schema_template(file, "y", encoding=encoding)
    assert f'encoding = "{encoding}"' in template and '"größe" = ' in template
    back = Schema.from_toml(schema(encoding).to_toml())
    assert back == schema(encoding) and back.encoding == encoding


def test_a_file_to_score_may_be_in_another_code_page(file, tmp_path):
    file.write_bytes(TEXT.encode("cp1252"))
    fit(file, schema=schema(), epsilon=1.0, seed=1).save(tmp_path / "model.json")
    other = tmp_path / "other.csv"
    other.write_text(TEXT, "utf-8")
    asked = f"dpcore predict {tmp_path / 'model.json'} --quiet --data"
    wanted, found = dpcore(f"{asked} {file}"), dpcore(f"{asked} {other} --encoding utf-8")
    assert wanted.status == 0 and found == wanted
    assert "has no column" in (told := dpcore(f"{asked} {other}").err) or "no column" in told


def test_a_byte_that_is_no_letter_is_a_malformed_line(file):
    lines = TEXT.encode("cp1252").splitlines(keepends=True)
    lines.insert(2, b"4,\x81\x8d,ja\n")
    file.write_bytes(b"".join(lines))
    with pytest.raises(DataError, match="f.csv, line 3: a byte is no letter of cp1252"):
        Dataset.from_file(file, schema())
    kept = Dataset.from_file(file, schema(), bad_rows="drop")
    file.write_bytes(TEXT.encode("cp1252"))
    assert rows(kept) == rows(Dataset.from_file(file, schema()))


@pytest.mark.parametrize("encoding", sorted(_PAGES))
def test_each_byte_is_a_letter_by_itself(encoding):
    # In UTF-16, the broken twin, a byte more makes other letters of all that follow.
    assert to_utf8(bytes(range(128)), encoding) == bytes(range(128))
    alone = b"".join(to_utf8(bytes([byte]), encoding) for byte in range(256))
    assert to_utf8(bytes(range(256)), encoding) == alone
    assert b"\r" not in alone[128:] and b"\n" not in alone[128:]
    with pytest.raises(InvalidInputError, match="a code page of one byte"):
        Dataset.from_file("none.csv", schema("utf-16"))
    assert "a\n".encode("utf-16-le")[:3].decode("utf-16-le", "replace") != "a\n"


@pytest.mark.parametrize("encoding", ["utf-16", "shift_jis", "cp864", "no such", "zlib", "\0"])
def test_other_encodings_are_refused_before_a_file_is_opened(encoding):
    with pytest.raises(InvalidInputError, match="Expected encoding="):
        Dataset.from_file("none.csv", schema(encoding))

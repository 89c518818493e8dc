"""Sentences in several languages and scripts, tool results and media, all drawn from one `random.Random`."""

from __future__ import annotations

import base64
import json
import random
import struct
import zlib
from typing import Any

SENTENCES: dict[str, tuple[str, ...]] = {
    "en": (
        "My name is Olivia Grant and my order number is A-20731.",
        "Please remember that I am allergic to penicillin.",
        "Could you move the meeting with Dr. Hassan to 14 March at 9:30?",
        "The invoice says $1,240.50, but we agreed on $1,204.50.",
        "Write to olivia.grant@example.com or call +44 20 7946 0018.",
        "What did I tell you about the warehouse in Leeds?",
        "Thanks, that is all for today.",
        "The build fails again; the log is below.",
    ),
    "ru": (
        "Меня зовут Пётр Савельев, номер договора 4471-К.",
        "Запомни, пожалуйста: смена начинается в 7:45.",
        "Сколько стоит доставка в Новосибирск?",
        "Я уже говорил, что мы переехали на улицу Садовую, 12.",
        "Спасибо, больше вопросов нет.",
    ),
    "uk": (
        "Мене звати Оксана, я живу у Львові на вулиці Зеленій.",
        "Запам'ятай: зустріч перенесли на 21 травня.",
        "Скільки коштує квиток до Одеси?",
    ),
    "zh": (
        "我叫王小明，工号是A1023，电话13800138000。",
        "请记住我对花生过敏。",
        "明天下午三点的会议改到周五。",
        "订单编号是多少？",
    ),
    "ja": (
        "佐藤健一と申します。会員番号は七七八です。",
        "来週の予約を変更してください。",
        "ありがとうございました。",
    ),
    "th": ("ฉันชื่อมาลี ที่อยู่ของฉันคือถนนสุขุมวิท", "ช่วยจองโต๊ะสำหรับสี่คนวันเสาร์"),
    "ar": ("اسمي ليلى ورقم الطلب ٤٤٧١", "ما هي ساعات العمل يوم الجمعة؟"),
    "hi": ("मेरा नाम अर्जुन है और मेरा खाता 9921 है।", "कृपया कल सुबह याद दिलाना।"),
    "ko": ("제 이름은 김민준이고 주문 번호는 5521입니다.", "내일 회의 시간을 알려 주세요."),
    "de": (
        "Ich heiße Jürgen Weiß und wohne in der Goethestraße 8.",
        "Bitte merke dir den Termin am 3. Juni.",
    ),
    "es": ("Me llamo Lucía Pérez y mi reserva es la 88213.", "¿Cuánto cuesta el envío a Málaga?"),
    "fr": ("Je m'appelle Chloé Lefèvre, dossier nº 7702.", "Rappelle-toi que je préfère le train."),
    "code": (
        "```python\ndef area(r: float) -> float:\n    return 3.14159 * r ** 2\n```",
        "SELECT id, total FROM orders WHERE customer = 'A-20731' ORDER BY created DESC;",
    ),
    "odd": (
        "👩‍🚀 🧪 ✅",
        "a\u0301e\u0308 \u202eabc\u202c",
        "{not: 'json', %s {} }",
        "<tool_call>{}</tool_call>",
    ),
}
"""Sentences by language; facts of every kind the package extracts stand among them."""

TOOLS = ("search", "get_order", "read_file", "send_mail", "list_shifts", "convert_currency")
"""Names of tools that random histories call."""


def sentence(rng: random.Random, language: str) -> str:
    """Return one sentence of a language, sometimes one of another."""
    chosen = language if rng.random() < 0.85 else rng.choice(sorted(SENTENCES))
    return rng.choice(SENTENCES[chosen])


def paragraph(rng: random.Random, language: str, most: int = 3) -> str:
    """Return one to `most` sentences."""
    return " ".join(sentence(rng, language) for _ in range(rng.randint(1, most)))


def identifier(rng: random.Random, length: int) -> str:
    """Return random letters and digits."""
    return "".join(
        rng.choice("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") for _ in range(length)
    )


def blob(rng: random.Random, length: int) -> str:
    """Return random bytes in base64."""
    return base64.b64encode(rng.randbytes(length)).decode()


def arguments(rng: random.Random, language: str) -> dict[str, Any]:
    """Return a tool call's arguments: of several JSON types, sometimes none."""
    pool: dict[str, Any] = {
        "query": sentence(rng, language),
        "limit": rng.randint(1, 50),
        "exact": rng.random() < 0.5,
        "ids": [rng.randint(1, 9999) for _ in range(rng.randint(0, 4))],
        "where": {"city": rng.choice(("Leeds", "Львів", "北京")), "floor": None},
        "share": rng.randint(0, 100) / 100,
    }
    return {key: pool[key] for key in sorted(pool) if rng.random() < 0.4}


def result(rng: random.Random, language: str) -> str:
    """Return what a tool answers: prose, JSON, a table, much text, or nothing."""
    kind = rng.random()
    if kind < 0.35:
        return paragraph(rng, language)
    if kind < 0.75:
        return json.dumps(_rows(rng, language), ensure_ascii=rng.random() < 0.3)
    if kind < 0.85:
        return "\n".join(f"{rng.randint(1, 999)}\t{identifier(rng, 8)}" for _ in range(rng.randint(1, 12)))
    if kind < 0.97:
        return " ".join(paragraph(rng, language) for _ in range(rng.randint(5, 25)))
    return "ok"


def _rows(rng: random.Random, language: str) -> list[dict[str, Any]]:
    return [
        {"id": rng.randint(1, 99999), "note": sentence(rng, language), "done": rng.random() < 0.5}
        for _ in range(rng.randint(1, 5))
    ]


def png(rng: random.Random) -> str:
    """Return a small valid PNG in base64, never the same picture twice."""
    width, height = rng.randint(1, 24), rng.randint(1, 24)
    rows = b"".join(b"\x00" + rng.randbytes(3 * width) for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    data = b"\x89PNG\r\n\x1a\n"
    for kind, body in chunks:
        data += struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return base64.b64encode(data).decode()


def medium(rng: random.Random) -> dict[str, Any]:
    """Return a block of an image, of audio or of a file, in one of the forms that LangChain takes."""
    kind = rng.randrange(6)
    if kind == 0:
        return {"type": "image", "base64": png(rng), "mime_type": "image/png"}
    if kind == 1:
        return {"type": "image", "source_type": "base64", "data": png(rng), "mime_type": "image/png"}
    if kind == 2:
        return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png(rng)}"}}
    if kind == 3:
        return {"type": "audio", "base64": blob(rng, 120), "mime_type": "audio/wav"}
    name = f"{identifier(rng, 6)}.pdf"
    pdf = base64.b64encode(b"%PDF-1.4\n" + rng.randbytes(60)).decode()
    return {"type": "file", "base64": pdf, "mime_type": "application/pdf", "filename": name}

"""Which language a conversation is in."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from threadkeep.context.facts import language

TEXTS = {
    "en": "Could you tell me when the next delivery leaves the warehouse?",
    "ru": "Подскажите, когда следующая поставка уходит со склада?",
    "uk": "Підкажіть, будь ласка, коли наступна поставка їде зі складу?",
    "bg": "Кажете ми кога следващата доставка ще тръгне от склада, моля?",
    "zh": "请告诉我下一批货什么时候离开仓库？",
    "ja": "次の配送はいつ倉庫を出発しますか？",
    "ko": "다음 배송은 언제 창고에서 출발하나요?",
    "es": "¿Puede decirme cuándo sale la próxima entrega del almacén?",
    "pt": "Você pode me dizer quando sai a próxima entrega do armazém?",
    "it": "Mi può dire quando parte la prossima consegna dal magazzino?",
    "de": "Können Sie mir sagen, wann die nächste Lieferung das Lager verlässt?",
    "fr": "Pouvez-vous me dire quand la prochaine livraison quitte l'entrepôt ?",
    "nl": "Kun je mij zeggen wanneer de volgende levering het magazijn verlaat?",
    "pl": "Proszę powiedzieć, kiedy następna dostawa wyjeżdża z magazynu?",
    "sv": "Kan du säga när nästa leverans lämnar lagret?",
    "tr": "Bir sonraki teslimat depodan ne zaman çıkıyor, lütfen söyler misin?",
    "vi": "Xin cho tôi biết khi nào chuyến hàng tiếp theo rời kho?",
    "ar": "متى تغادر الشحنة التالية المستودع؟",
    "fa": "محموله بعدی چه زمانی انبار را ترک می‌کند؟",
    "he": "מתי המשלוח הבא יוצא מהמחסן?",
    "hi": "अगली डिलीवरी गोदाम से कब निकलेगी?",
    "th": "สินค้าชุดต่อไปออกจากคลังเมื่อไหร่",
    "el": "Πότε φεύγει η επόμενη παράδοση από την αποθήκη;",
}


@pytest.mark.parametrize(("code", "text"), TEXTS.items())
def test_a_sentence_tells_its_language(code: str, text: str) -> None:
    assert language.detect(text) == code
    assert language.name_of(code) != code


@pytest.mark.parametrize(
    "text", ["", "   ", "12345 :-)", "https://example.com/the/and/of", "```\nthe of and\n```"]
)
def test_what_is_no_language_is_none(text: str) -> None:
    assert language.detect(text) is None


def test_code_and_identifiers_in_another_script_do_not_decide() -> None:
    assert language.detect("工号是A1023，请把 pallet QX-77 移到 dock 5 号门，谢谢您") == "zh"
    assert language.detect("Запусти `git commit the of and` и покажи log, мне нужно это сейчас") == "ru"


def test_people_decide_not_tools_and_answers() -> None:
    messages: list[BaseMessage] = [
        HumanMessage("Где мой заказ? Мне он нужен сегодня."),
        ToolMessage("The order is in the warehouse and it will be there on Monday. " * 50, tool_call_id="1"),
        AIMessage("The order is on the way and will be with you on Monday. " * 50),
    ]
    assert language.of(messages) == "ru"
    assert language.of(messages[1:]) == "en"
    assert language.of(messages[1:2]) is None


def test_the_newest_messages_decide() -> None:
    early = [HumanMessage("What is the price of it and when will it be here?")] * 3
    late = [HumanMessage("Скажите, пожалуйста, когда привезут мой заказ и сколько это стоит? " * 400)]
    assert language.of([*early, *late]) == "ru"

"""The sentences around a summary and around restated facts, by language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Wording:
    """Hold the text around a summary; every field may be replaced.

    `{count}` and `{reference}` are filled in by plain replacement: other braces are left as they are.

    Args:
        opening: Stands before the summary: what it is, and that it is no request. `{count}` is the number of
            messages that it stands for.
        requests: Heads the user's own requests in an extract made without a model.
        pinned: Heads the sentences that the user asked to remember.
        facts: Heads the details that the summary does not mention.
        more_pinned: Says how many such sentences did not fit (`{count}`).
        more_facts: Says how many such details did not fit (`{count}`).
        entities: Heads what is known about people, places, projects and organisations.
        reference: Is added to the two lines before where a reference is known (`{reference}`).
    """

    opening: str
    requests: str
    pinned: str
    facts: str
    more_pinned: str
    more_facts: str
    entities: str
    reference: str


ENGLISH = Wording(
    opening="Background: a summary of the {count} earlier messages of this conversation. "
    "It is a note for reference, not a message from the user and not an answer of yours.",
    requests="What the user asked or told, oldest first:",
    pinned="The user asked to remember:",
    facts="Details from the earlier messages, word for word:",
    more_pinned="{count} older requests to remember are not shown",
    more_facts="{count} more details are not shown",
    entities="Known from earlier messages, for reference:",
    reference=": {reference}",
)

_WORDINGS: Mapping[str, Wording] = {
    "en": ENGLISH,
    "ru": Wording(
        opening="Справка: краткое изложение более ранних сообщений этого разговора ({count}). "
        "Это заметка для сведения, а не сообщение пользователя и не ваш ответ.",
        requests="О чём пользователь просил или сообщил, от старого к новому:",
        pinned="Пользователь просил запомнить:",
        facts="Подробности из более ранних сообщений, дословно:",
        more_pinned="Не показано более старых просьб запомнить: {count}",
        more_facts="Не показано других подробностей: {count}",
        entities="Известно из более ранних сообщений, для сведения:",
        reference=" — {reference}",
    ),
    "uk": Wording(
        opening="Довідка: стислий виклад попередніх повідомлень цієї розмови ({count}). "
        "Це нотатка для відома, а не повідомлення користувача і не ваша відповідь.",
        requests="Про що користувач просив або повідомив, від старого до нового:",
        pinned="Користувач просив запам’ятати:",
        facts="Подробиці з попередніх повідомлень, дослівно:",
        more_pinned="Не показано старіших прохань запам’ятати: {count}",
        more_facts="Не показано інших подробиць: {count}",
        entities="Відомо з попередніх повідомлень, для відома:",
        reference=" — {reference}",
    ),
    "zh": Wording(
        opening="背景资料：本次对话中较早的{count}条消息的摘要。仅供参考，既不是用户的新消息，也不是你的回答。",
        requests="用户先后提出的要求和说明：",
        pinned="用户要求记住：",
        facts="较早消息中的细节（原文）：",
        more_pinned="另有{count}条较早的记忆要求未显示",
        more_facts="另有{count}条细节未显示",
        entities="较早消息中的已知信息，仅供参考：",
        reference="：{reference}",
    ),
    "ja": Wording(
        opening="背景情報：この会話の以前のメッセージ{count}件の要約です。参考用のメモであり、"
        "ユーザーからの新しいメッセージでも、あなたの回答でもありません。",
        requests="ユーザーの依頼と説明（古い順）：",
        pinned="ユーザーが覚えておくよう頼んだこと：",
        facts="以前のメッセージの詳細（原文のまま）：",
        more_pinned="ほかに表示していない古い依頼が{count}件あります",
        more_facts="ほかに表示していない詳細が{count}件あります",
        entities="以前のメッセージからの情報（参考）：",
        reference="：{reference}",
    ),
    "es": Wording(
        opening="Contexto: resumen de los {count} mensajes anteriores de esta conversación. "
        "Es una nota de referencia; no es un mensaje del usuario ni una respuesta tuya.",
        requests="Lo que el usuario pidió o dijo, de lo más antiguo a lo más reciente:",
        pinned="El usuario pidió recordar:",
        facts="Detalles de los mensajes anteriores, al pie de la letra:",
        more_pinned="No se muestran {count} peticiones más antiguas de recordar",
        more_facts="No se muestran {count} detalles más",
        entities="Lo que se sabe por mensajes anteriores, como referencia:",
        reference=": {reference}",
    ),
    "de": Wording(
        opening="Hintergrund: eine Zusammenfassung der {count} früheren Nachrichten dieses Gesprächs. "
        "Sie dient zum Nachschlagen und ist weder eine Nachricht des Nutzers noch eine Antwort von dir.",
        requests="Was der Nutzer bat oder mitteilte, das Älteste zuerst:",
        pinned="Der Nutzer bat, sich zu merken:",
        facts="Einzelheiten aus den früheren Nachrichten, im Wortlaut:",
        more_pinned="{count} ältere Bitten, sich etwas zu merken, sind nicht gezeigt",
        more_facts="{count} weitere Einzelheiten sind nicht gezeigt",
        entities="Aus früheren Nachrichten bekannt, zum Nachschlagen:",
        reference=": {reference}",
    ),
    "fr": Wording(
        opening="Contexte : résumé des {count} messages précédents de cette conversation. "
        "C’est une note de référence, ni un message de l’utilisateur ni une réponse de votre part.",
        requests="Ce que l’utilisateur a demandé ou indiqué, du plus ancien au plus récent :",
        pinned="L’utilisateur a demandé de retenir :",
        facts="Détails des messages précédents, mot pour mot :",
        more_pinned="{count} demandes plus anciennes de retenir ne sont pas affichées",
        more_facts="{count} autres détails ne sont pas affichés",
        entities="Connu par les messages précédents, pour référence :",
        reference=" : {reference}",
    ),
}


def wording_of(language: str | None) -> Wording:
    """Return the wording in a language (an ISO 639-1 code); English where there is none."""
    return _WORDINGS.get(language or "en", ENGLISH)


def fill(template: str, **values: object) -> str:
    """Replace `{name}` by each value; nothing else in the template has a meaning."""
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", str(value))
    return template

"""Requests to remember: which sentences are some, and which only sound alike."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from threadkeep.context.facts.pin_sentences import pinned_sentences
from threadkeep.context.facts.pins import Pin, gather, is_pin, pins_of

REQUESTS = """
Remember that my badge number is 4471.
Please remember: I'm allergic to peanuts.
Keep in mind that the budget is 500 euros.
Don't forget that I work nights.
Don’t forget my dog's name is Rex!
Do not forget the code 7788.
Never forget that I am vegetarian.
My badge is 4471, please remember that.
My shift starts at 7:30, remember that.
I'm allergic to peanuts, so please remember that when suggesting recipes.
And remember, always answer in French.
Claude, remember that I live in Oslo.
I want you to remember that I prefer tea.
I'd like you to remember my address.
Make sure to remember the PIN 9911.
Make a note that the client is in Kyiv.
Also, please keep in mind I'm on Windows.
Hey, remember to call Anna on Friday.
Bear in mind that we close at 5.
OK, so remember the door code is 12-34.
Thanks! Remember my birthday is 3 May.
My code is 55 and please remember it.
- Remember that X is 5
Запомни, что мой пропуск 4471.
Пожалуйста, запомните: у меня аллергия на арахис.
Не забудь, что я работаю в ночь.
Имей в виду, что бюджет 500 евро.
Мой пропуск 4471, запомни это.
Прошу запомнить, что смена в 7:30.
Я хочу, чтобы ты запомнил: дверь 5.
И ещё запомни: отвечай по-русски.
Алиса, запомни мой адрес.
Учти, что я вегетарианец.
Помни, что мы закрываемся в пять.
У меня аллергия, пожалуйста, не забывай об этом.
Запам’ятай, що моя перепустка 4471.
Будь ласка, запам'ятайте: зміна о 7:30.
Не забудь, що я працюю вночі.
Май на увазі, що бюджет 500 євро.
Моя перепустка 4471, запам'ятай це.
Прошу запам'ятати мою адресу.
请记住，我的工号是A1023。
記住我的生日是五月三日。
记住：我对花生过敏
别忘了我住在上海。
我的工号是A1023，请记住。
我对花生过敏，记住这一点。
麻烦你记住我的地址是北京路5号。
帮我记一下，会议在三点。
请务必记住密码是8899
不要忘记我星期五休息。
私の社員番号は4471です。覚えておいてください。
ピーナッツアレルギーがあることを覚えておいて。
내 사번은 4471이야, 기억해 줘.
Recuerda que mi turno empieza a las 7.
Por favor, no olvides que soy alérgico.
Merk dir bitte, dass ich Vegetarier bin.
Bitte merken Sie sich meine Adresse.
Vergiss nicht, dass der Code 4471 ist.
Souviens-toi que je suis végétarien.
N'oublie pas que le code est 4471.
Lembre-se de que meu código é 4471.
Ricorda che sono vegetariano.
Zapamiętaj, że mój kod to 4471.
""".strip().splitlines()

NO_REQUESTS = """
Do you remember my shift?
Remember me?
I remembered to close the door.
I remember that you said five.
He asked me to remember the milk.
She told me: "Remember the milk".
He said, please remember to lock the door.
Can you remember my name?
Could you remember that for me?
You remembered it well.
I don't remember the code.
Don't remember this.
Please do not remember my card number.
You don't have to remember that.
I can't remember where I put it.
I forgot my badge.
Remembering names is hard.
Remember when we went to Rome.
Remember how it broke last time.
What should I keep in mind?
We will never remember this.
It is easy to remember.
A password that people remember.
Don't you remember?
The memory card is full.
The remembered value is 5.
They remember everything.
My boss said I should remember it.
Do you remember what I said yesterday
Ты помнишь мою смену?
Я запомнил твой адрес.
Он просил запомнить код.
Запомнил?
Не запоминай это.
Я не помню код.
Я помню, что смена в семь.
Она сказала: запомни код.
Мама сказала, не забудь молоко.
Мне трудно запомнить номера.
Что нужно запомнить?
Запомнить это трудно.
Помнишь меня?
Ти пам'ятаєш мою зміну?
Я запам'ятав адресу.
Він просив запам'ятати код.
Не запам'ятовуй це.
你记得我的班次吗？
你还记得我的名字吗
我记得你说过五点。
我记住了。
他让我记住密码。
你记住了吗？
记得我吗？
记住了。
记不住怎么办
我记不住。
覚えていますか？
私は覚えていました。
기억해?
¿Recuerdas mi turno?
Él recuerda todo.
Erinnerst du dich an meine Schicht?
Ich habe mir das gemerkt.
Tu te souviens de mon poste ?
Er sagte, vergiss nicht die Milch.
""".strip().splitlines()


@pytest.mark.parametrize("text", REQUESTS)
def test_a_request_to_remember_is_a_pin(text: str) -> None:
    assert is_pin(text)
    (pin,) = pinned_sentences(f"What is new?\n\n{text}\n\nAnd what else?")
    assert text.endswith(pin)


@pytest.mark.parametrize("text", NO_REQUESTS)
def test_what_only_sounds_like_a_request_is_no_pin(text: str) -> None:
    assert not is_pin(text)


def test_a_pin_is_the_sentence_and_not_the_message() -> None:
    text = "Hi! How are you? Please remember that my badge is 4471. What is for lunch?"
    assert pinned_sentences(text) == ["Please remember that my badge is 4471."]


def test_a_bare_request_takes_in_the_sentence_before() -> None:
    assert pinned_sentences("Hi. My badge is 4471. Remember that.") == ["My badge is 4471. Remember that."]
    assert pinned_sentences("Привет. Мой пропуск 4471. Запомни это.") == ["Мой пропуск 4471. Запомни это."]
    assert pinned_sentences("你好。我的工号是A1023。请记住。") == ["我的工号是A1023。请记住。"]


def test_a_request_with_a_colon_takes_in_the_list_behind_it() -> None:
    text = "Please remember the following:\n- badge 4471\n- dock 5\n\nAnd what is for lunch?"
    assert pinned_sentences(text) == ["Please remember the following:\n- badge 4471\n- dock 5"]


def test_code_and_quoted_lines_hold_no_pins() -> None:
    assert not is_pin("```\nRemember that x is 5.\n```")
    assert not is_pin("> Remember that x is 5.\n\nWhat does this mean?")


def test_only_people_pin() -> None:
    text = "Remember that my badge is 4471."
    own: list[BaseMessage] = [
        AIMessage(text),
        ToolMessage(text, tool_call_id="1"),
        SystemMessage(text),
        HumanMessage(text, additional_kwargs={"threadkeep": "summary"}),
    ]
    assert gather(own) == []
    assert pins_of(HumanMessage(text, id="m1")) == (Pin(text=text, source="m1"),)


def test_a_chosen_message_is_restated_whole_while_it_is_chosen() -> None:
    answer = AIMessage("The code of dock 5 is 7788. Use it twice.", id="a1")
    pins = gather([answer], chosen={"a1"})
    assert [pin.text for pin in pins] == [answer.text]
    assert gather([], known=pins, chosen={"a1"}) == pins
    assert gather([], known=pins) == []


def test_a_pin_said_twice_is_kept_once_where_it_was_said_last() -> None:
    texts = ["Remember that A is 1.", "Remember that B is 2.", "Remember that A is 1."]
    pins = gather([HumanMessage(text, id=str(n)) for n, text in enumerate(texts)])
    assert [(pin.text, pin.source) for pin in pins] == [(texts[1], "1"), (texts[0], "2")]

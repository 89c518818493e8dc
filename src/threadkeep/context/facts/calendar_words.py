"""Months, weekdays and units by their names in several languages."""

from __future__ import annotations

from collections.abc import Mapping

_MONTHS = (
    "january jan januar janvier enero janeiro январ січн",
    "february feb februar février febrero fevereiro феврал лют",
    "march mar märz mars marzo março март берез",
    "april apr avril abril апрел квіт",
    "may mai mayo maio мая май трав",
    "june jun juni juin junio junho июн черв",
    "july jul juli juillet julio julho июл лип",
    "august aug août agosto август серп",
    "september sep sept septembre septiembre setembro сентябр верес",
    "october oct oktober octobre octubre outubro октябр жовт",
    "november nov novembre noviembre novembro ноябр листопад",
    "december dec dezember décembre diciembre dezembro декабр груд",
)
_WEEKDAYS = (
    "monday montag lundi lunes понедельник понеділ",
    "tuesday dienstag mardi martes вторник вівтор",
    "wednesday mittwoch mercredi miércoles сред серед",
    "thursday donnerstag jeudi jueves четверг четвер",
    "friday freitag vendredi viernes пятниц п'ятниц",
    "saturday samstag samedi sábado суббот субот",
    "sunday sonntag dimanche domingo воскресень неділ",
)
_UNITS = (
    "kg kilogram kilograms kilo kilos kilogramm кг килограмм кілограм 公斤 千克",
    "g gram grams gramm грамм грам 克",
    "t ton tons tonne tonnes tonnen тонн 吨 噸",
    "lb lbs",
    "km kilometer kilometers kilometre kilometres км километр кілометр 公里",
    "m meter meters metre metres метр 米",
    "cm centimeter centimeters сантиметр см 厘米",
    "mm миллиметр міліметр мм",
    "mile miles meilen миль миля",
    "ft feet foot",
    "inch inches",
    "l liter liters litre litres литр літр 升",
    "ml мл",
    "% percent prozent процент відсот",
    "°c celsius",
    "°f fahrenheit",
    "kw квт",
    "kwh",
    "gb гб",
    "mb мб",
    "kb кб",
    "tb тб",
    "hour hours h hr hrs stunde stunden heure heures hora horas час годин 小时 小時 時間",
    "minute minutes min mins minuten minuto minutos минут хвилин 分钟 分鐘",
    "second seconds sec secs sekunden секунд 秒",
    "day days tag tage tagen jour jours día días день дня дней днів дні 天 日間",
    "week weeks woche wochen semaine semaines semana semanas недел тижн 周 週間",
    "month months monat monate monaten mois mes meses месяц місяц 个月 個月",
    "year years jahr jahre jahren an ans año años год года лет років рік роки 年 岁 歲",
    "pallet pallets palette paletten паллет палет 托",
    "box boxes короб ящик 箱",
    "crate crates",
    "piece pieces pcs stück штук шт 件 个 個",
    "item items",
    "unit units",
    "people person persons personen personnes personas человек людей осіб 人",
    "guest guests gäste гост",
    "ticket tickets билет квитк",
    "usd dollar dollars $ us$ доллар долар 美元",
    "eur euro euros € евро євро 欧元 歐元",
    "gbp £",
    "pound pounds",
    "rub ruble rubles ₽ руб",
    "uah hryvnia hryvnias ₴ грн гривен гривн",
    "cny yuan rmb ¥ юан 元 块 塊 人民币",
    "jpy yen иен 円",
    "inr rupee rupees ₹",
)


def _by_word(lists: tuple[str, ...]) -> Mapping[str, int]:
    return {word: place for place, words in enumerate(lists, 1) for word in words.split()}


_MONTH, _WEEKDAY, _UNIT = _by_word(_MONTHS), _by_word(_WEEKDAYS), _by_word(_UNITS)

WEEKDAYS = "|".join(sorted({*_WEEKDAY, *(word.capitalize() for word in _WEEKDAY)}, reverse=True))
"""All weekdays' names, small and with a capital, as alternatives of a pattern; the longer of two comes first."""

_STEM = 3  # letters: Cyrillic words are looked up by their beginning, since they change their ends


def month_of(word: str) -> int | None:
    """Return a month's number, 1 to 12, by its name; English `may` and `march` only with a capital."""
    if word in ("may", "march", "mar"):
        return None
    return _found(word.casefold(), _MONTH)


def weekday_of(word: str) -> int | None:
    """Return a weekday's number, Monday being 1."""
    return _found(word.casefold(), _WEEKDAY)


def unit_of(word: str) -> str | None:
    """Return a unit's usual name by any of its names; None for a word that is no unit."""
    place = _found(word.casefold(), _UNIT)
    return None if place is None else _UNITS[place - 1].split()[0]


def _found(word: str, places: Mapping[str, int]) -> int | None:
    place = places.get(word)
    if place is not None or not "\u0400" <= word[:1] <= "\u04ff":
        return place
    for length in range(len(word) - 1, max(_STEM, len(word) - 5) - 1, -1):
        place = places.get(word[:length])
        if place is not None:
            return place
    return None

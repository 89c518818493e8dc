"""Words that are one token nearly everywhere, and by which English and its neighbours are told from other languages.

They are matched as bytes in Latin-1, in small letters, in capitals, or with a capital first.
"""

from __future__ import annotations

from typing import Final


def _in_all_cases(words: str) -> frozenset[bytes]:
    plain = words.split()
    forms = (form for word in plain for form in (word, word.capitalize(), word.upper()))
    return frozenset(form.encode("latin-1") for form in forms)


# The commonest words of English prose, then those of programs and of structured data.
ENGLISH: Final = _in_all_cases(
    """
    the of and to a in is it you that he was for on are with as i his they be at one have this from or had by hot but
    some what there we can out other were all your when up use how said an each she which do their time if will way
    about many then them would write like so these her long make thing see him two has look more day could go come did
    my no most who over know than call first people may down been now find any new work part take get place made where
    after back little only man year came show every good me give our under name very through just form much great think
    say help low line before turn same mean differ move right old too does tell sentence set three want well also play
    small end put home read hand large spell add even here must big high such follow act why ask men change went light
    kind off need house us again should because while since still between both might never always another without
    within during against those being next last until system number order please thank thanks could let not however
    something nothing state today week month yes okay sure order message question answer
    self return def import none true false class function const var type string int value key data id name null new
    else for while try except catch public static void error list dict str len object args http https com www org test
    file path text code user default config import export async await print include end then echo
    """
)

# Short words of German, French, Spanish, Portuguese, Italian, Dutch and Indonesian.
WESTERN: Final = _in_all_cases(
    """
    der die das und ist nicht ein eine einen einem einer mit für auf von dem den des im zu sich auch es werden wird als
    sind ich sie wir bei oder nach wie nur noch durch wenn kann wurde aus haben hat zum zur über
    le la les et est une un des du que qui dans pour pas sur ce cette vous nous je il elle ne plus avec par au aux sont
    mais ou son sa ses être peut
    el los las y es en una por con para no se lo su como más pero sus al este esta o si del puede
    o os e um uma não com na em dos das ao seu sua ser são à mais como foi isso você
    che di il lo gli non per con del della nel alla sono più anche questo si ha dei delle
    de het een van en niet dat op te zijn met voor er maar ook als aan bij naar dit wordt kunnen worden om uit
    yang dan di untuk dengan dari ini pada tidak akan dapat anda atau itu ke oleh dalam adalah
    """
)

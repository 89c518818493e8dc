"""Words for made-up prose: common English stems and the forms derived from them."""

from __future__ import annotations

# The most frequent words of English, most frequent first: about half of any running text.
FUNCTION = """
the of and to a in is it that you for was on are as with his they at be this from I have or by one had not
but what all were when we there can an your which their if do will each how them then she many some so these
would other into has more her two like him see time could no make than been its who now people my made over
did down only way find use may water long little very after words called just where most know get through
back much before go good new write our used me man too any day same right look think also around another
came come work three word must because does part even place well such here take why things help put years
different away again off went old number great tell men say small every found still between name should home
big give air line set own under read last never us left end along while might next sound below saw something
thought both few those always looked show large often together asked house don't world going want school
important until form food keep children feet land side without boy once animals life enough took four head
above kind began almost live page got earth need far hand high year mother light country father let night
picture being study second soon story since white ever paper hard near sentence better best across during
today however sure knew it's try told young sun thing whole hear example heard several change answer room
sea against top turned learn point city play toward five himself usually money seen didn't car morning I'm
body upon family later turn move face door cut done group true half red fish plants
""".split()

# Stems of everyday and office English. Verbs and nouns take their endings below.
VERBS = """
accept add adjust advise agree allow announce answer appear apply argue arrange arrive assume attach avoid
balance bargain bill blend block boil book borrow bounce brush build burn calculate call cancel carry catch
chase check choose claim clean climb close collect combine compare complain confirm connect consider contain
cook correct count cover crack crawl cross cure damage deal decide deliver demand depend describe detect
develop divide doubt draft drain draw dress drift drill drink drive drop earn empty enclose enjoy enter
escape estimate examine expect explain extend fail fasten fetch fill finish fit fix float flow fold follow
forget forward frame freeze gather glue grab greet grind grow guard guess guide hang happen harvest heat
hesitate hide hire hold hope hurry ignore imagine improve include inform inspect insure intend invite
invoice issue join judge jump knit knock label lack last laugh launch lean leave lend lift limit list load
lock lower manage mark match measure melt mend mention mix mount multiply notice obey object obtain occupy
offer open order owe pack paint park pass paste pay permit phone pick plan plant point polish post pour
praise predict prefer prepare present press prevent print promise propose protect prove pull pump purchase
push question quote raise reach receive recommend record reduce refer refund refuse regret reject relax
release rely remain remember remind remove rent repair repeat replace reply report request rescue reserve
resign resist return reveal review roast roll rub ruin run sail sample satisfy save scatter schedule scrape
search seem select sell send separate serve settle sew shake share sharpen shelter shine ship shorten shout
shrink sign sink sketch slide smell smooth solve sort spare spend spill split spread squeeze stain stamp
start starve state stay steer stick stir stop store stretch strike suffer suggest supply support suppose
surprise survive suspect swallow swim switch taste teach tear test thank thread throw tie tip touch trace
track trade train transfer translate travel treat trim trouble trust twist type unload unpack update urge
visit wait walk warm warn wash waste watch weigh weld whisper widen win wipe wish wonder wrap wrestle yield
""".split()

NOUNS = """
account address advantage agency alarm album ankle apple apron arch area attic autumn badge bakery balcony
bandage banner barrel basin basket battery beam bench bicycle blanket blossom board boat bolt border bottle
bottom bowl branch brass bread brick bridge broom bucket budget buffet bulb bureau button cabin cabinet
cable cake calendar camera candle canvas capital captain carpet carriage carton castle ceiling cellar
ceremony chain chalk chamber channel chapter charity cheese chest chimney circle citizen clerk climate cloth
coast coffee collar colony column comfort comment committee company compass concert contract copper corner
cottage cotton council courage cousin cradle crane crate credit crew crowd culture cupboard curtain cushion
customer danger daughter deadline debt decade degree department deposit desk detail device diary dictionary
dinner director disease distance district doctor document drawer driver dust eagle editor effort elbow
election elevator engine entrance envelope error event evidence exhibit factory fairy fare farmer fashion
fault feather fence ferry festival fever field figure finger flag flame flavour fleet floor flour flute
forest fork fortune fountain freight friend fruit fuel funnel furniture garage garden garlic gate gauge
gender glacier glass glove goal grain granite grape grass gravel guest gutter habit hammer handle harbour
hedge height helmet herb hinge history holiday honey horizon hospital hotel industry ink insect instrument
island ivory jacket jewel journal journey juice junction jungle kettle key kitchen kite knee knife ladder
lake lamp language lantern laundry lawn lawyer leather lemon lesson letter level lever library licence
lighthouse lily lobby logic lorry luggage lunch machine magazine magnet manual manner maple marble margin
market marriage mattress meadow meal medal medicine melody member memory merchant message metal meter method
minute mirror mission mixture model moment monument mortgage motor mountain museum mushroom nail napkin
nation needle neighbour nephew nest noise novel nurse oak ocean office onion opinion orange orchard organ
oven owner oxygen package palace pallet panel parcel parent parish partner passenger pastry patch path
patient pattern pavement pear pearl pebble pencil pepper percentage permit person petrol piano pigeon pillow
pilot pipe pitch planet plaster plate platform pocket poem poison policy pond portion portrait potato powder
prescription president price priest principle prison prize problem profit program project proverb province
pulse pupil puzzle quality quantity quarrel quarter queen queue quilt rabbit radiator radio railway ramp
range rate recipe region registration relation remedy representative reservoir resort restaurant result
ribbon rifle river road robin rocket roof rope routine ruler rumour saddle sailor salad salary salmon
sandwich sauce saucer scale scarf scene science scissors screen screw sculpture season secret secretary
sector semester shadow shelf shirt shoe shop shore shoulder shovel signal silence silk silver sister site
skill sleeve soap society soil soldier solution spade spider spoon spring square stable staff stage
staircase stall station statue steam steel stomach stone storm stranger straw street string studio subject
suburb sugar suit suitcase summer sunset surface surgeon symbol system table tailor talent target tariff tax
teacher temper temple tenant tent terrace territory theatre theory thumb ticket timber tissue tobacco tomato
tongue tool tower towel traffic trailer treasure tribe truck trunk tunnel turtle tyre umbrella uncle uniform
union valley valve vehicle velvet verdict vessel village vinegar violin virtue voice volcano voyage waiter
wallet walnut warehouse warranty weapon weather wedding wheat wheel whistle widow window winter wire witness
wolf workshop wound wrist yard zipper
""".split()

ADJECTIVES = """
able absent accurate active actual additional ancient angry annual awkward bare bitter blank blind bold
brave brief bright broad calm careful cautious central certain cheap cheerful civil clear clever clumsy cold
common complete complex constant cool cruel curious current damp dark dear deep delicate dense direct dirty
distant double dull eager early easy elaborate elegant entire equal exact extra faint fair false familiar
famous fancy fatal federal fierce final fine firm flat foreign formal fragile frank free frequent fresh full
gentle genuine glad golden grand grateful grave handsome harsh heavy hollow honest humble hungry ideal idle
immediate innocent intense internal keen late lazy legal likely liquid local lonely loose loud loyal lucky
mature mean merry mild minor moderate modern modest moist mutual narrow native neat nervous noble normal
obvious odd official opposite ordinary original outer pale parallel patient perfect plain pleasant polite
poor popular possible practical precious precise pretty previous private proper proud public pure quick
quiet rapid rare raw ready real recent regular relevant remote rich ripe rough round royal rude rural sad
safe secure sensible separate serious severe shallow sharp sheer short shy silent similar simple sincere
single slender slight slim slow smart soft solar sole solid sore sour spare special stable steady steep
stiff strange strict strong stupid sudden suitable superb sweet swift tall tame tender thick thin thorough
tidy tight tiny total tough typical ugly unique upper urban urgent usual vague valid vast vertical visible
vital vivid warm weak wealthy wet wide wild wise wooden worth wrong yellow
""".split()

NAMES = """
Ferreira Okafor Lindqvist Marchetti Novak Haddad Sorensen Whitlock Adeyemi Kowalski Banerjee Castellanos
Dimitrov Eriksen Fontaine Gallagher Hoshino Ibrahim Jansen Kaplan Lefebvre Moreau Nakamura Obrecht Petrov
Quigley Ramirez Schneider Tanaka Ueda Vasquez Wanjiru Yilmaz Zielinski Porto Leeds Tampere Gdansk Nairobi
Lyon Bergen Osaka Quito Cardiff Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February
March April June July August September October November December
""".split()


def _verb_forms(stem: str) -> list[str]:
    root = stem[:-1] if stem.endswith("e") else stem
    return [stem, stem + "s", root + "ed", root + "ing"]


def _plural(noun: str) -> str:
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    return noun[:-1] + "ies" if noun.endswith("y") and noun[-2] not in "aeou" else noun + "s"


def _adverb(adjective: str) -> str:
    return adjective[:-1] + "ily" if adjective.endswith("y") else adjective + "ly"


def content_words() -> list[str]:
    """Every derived form of the stems above, about 4,500 words."""
    words = [form for verb in VERBS for form in _verb_forms(verb)]
    words += [form for noun in NOUNS for form in (noun, _plural(noun), noun + "'s")]
    words += [form for adjective in ADJECTIVES for form in (adjective, _adverb(adjective))]
    return words + NAMES

"""Invented facts, each with a question and what an answer must hold.

The demo model's examples and checks were tuned on `TUNING`; `HELD_OUT` was written later and only measured.
"""

from __future__ import annotations

from typing import NamedTuple


class Fact(NamedTuple):
    """What is said, what is asked later, and a regular expression that finds the answer, in lower case."""

    said: str
    asked: str
    answer: str


TUNING = (
    Fact("My locker number is 4471.", "What is my locker number?", "4471"),
    Fact("I live in Tarvik.", "Where do I live?", "tarvik"),
    Fact("My sister is called Oonagh.", "What is my sister's name?", "oonagh"),
    Fact("Please remember that the backup runs at 3:40 every night.", "When does the backup run?", "3:40"),
    Fact("I am allergic to walnuts.", "What am I allergic to?", "walnut"),
    Fact(
        "Our meeting with Delmar Foods is on Thursday.", "On which day do we meet Delmar Foods?", "thursday"
    ),
    Fact("The spare key is under the red flowerpot.", "Where did I leave the spare key?", "flowerpot"),
    Fact("My bike is orange.", "What colour is my bike?", "orange"),
    Fact("I have 14 chickens.", "How many chickens do I have?", r"\b14\b|fourteen"),
    Fact("The project's code name is Heron.", "Do you remember the code name of the project?", "heron"),
    Fact("My favourite tea is lapsang.", "Which tea do I like best?", "lapsang"),
    Fact("I work as a glazier.", "What is my job?", "glazier"),
    Fact("Mrs. Petrosyan teaches my son the violin.", "Who teaches my son the violin?", "petrosyan"),
    Fact("The invoice from March is for 812 euros.", "How much is the invoice from March?", "812"),
    Fact("My flight leaves from gate C9.", "Which gate does my flight leave from?", "c9"),
    Fact("I was born on 9 February 1981.", "When is my birthday?", "9 feb|february 9|feb"),
    Fact("My cat is called Mustard.", "What's the name of my cat?", "mustard"),
    Fact("The wifi password is plum-harbor-22.", "Tell me the wifi password.", "plum-harbor-22"),
    Fact("Hi, I'm Jorunn.", "What is my name?", "jorunn"),
    Fact("I parked on level 3, next to the lift.", "Where did I park?", "level 3|lift"),
    Fact("My employee number is K-2089.", "What's my employee number?", "k-2089"),
    Fact("My name is Bartholomew Quill.", "Who am I?", "bartholomew|quill"),
    Fact(
        "The dentist's appointment is at half past two on Friday.",
        "When is the appointment with the dentist?",
        "half past two|friday",
    ),
    Fact("My brother Stellan lives in Porto.", "Where does my brother live?", "porto"),
    Fact("I drive a green van.", "What do I drive?", "van"),
    Fact(
        "The combination of the safe is 73-19-40.",
        "Can you remind me of the combination of the safe?",
        "73-19-40",
    ),
    Fact("My favourite dish is mushroom risotto.", "What is my favourite dish?", "risotto"),
    Fact("We planted 320 tulips this autumn.", "How many tulips did we plant?", "320"),
    Fact(
        "Warehouse 6 holds the winter tyres.", "Which warehouse holds the winter tyres?", r"warehouse 6|\b6\b"
    ),
    Fact("My doctor is Dr. Abernathy.", "Who is my doctor?", "abernathy"),
    Fact("I'm learning Estonian.", "Which language am I learning?", "estonian"),
    Fact("The rent is 1150 a month.", "How much is the rent?", "1150|1,150"),
    Fact("My daughter plays the cello.", "What instrument does my daughter play?", "cello"),
    Fact("The report has to be ready by the 21st of June.", "By when must the report be ready?", "21"),
    Fact("My horse is named Kestrel.", "Do you know what my horse is called?", "kestrel"),
    Fact("I keep the passports in the blue drawer.", "Where are the passports?", "blue drawer|drawer"),
    Fact("The new manager comes from Lisbon.", "Where does the new manager come from?", "lisbon"),
    Fact("My train is the 7:52 to Ghent.", "Which train do I take?", "7:52|ghent"),
    Fact("I take two sugars in my coffee.", "How many sugars do I take?", r"two|\b2\b"),
    Fact("Our team is called the Night Owls.", "What is the name of our team?", "night owls"),
    Fact("My gym card has the number 60218.", "What number is on my gym card?", "60218"),
    Fact("I go by Thelonius.", "What is my name?", "thelonius"),
    Fact("My uncle Fergus keeps bees.", "Who keeps bees?", "fergus|uncle"),
    Fact("The boiler was last serviced in October.", "When was the boiler last serviced?", "october"),
    Fact("We are staying at the Hotel Marenga.", "Which hotel are we staying at?", "marenga"),
    Fact("My car is a silver Skoda.", "What colour is my car?", "silver"),
    Fact("The delivery comes to dock 17.", "To which dock does the delivery come?", "17"),
    Fact(
        "I have an appointment with Dr. Sandoval at 10:15.",
        "At what time is my appointment with Dr. Sandoval?",
        "10:15",
    ),
    Fact("My parrot is called Admiral.", "What do I call my parrot?", "admiral"),
    Fact("The library book is due on 4 May.", "When is the library book due?", "4 may|may 4"),
    Fact("I grew up in Kirkenes.", "Where did I grow up?", "kirkenes"),
    Fact("My wife's favourite flower is the peony.", "Which flower does my wife like most?", "peon"),
    Fact("The printer on the second floor is broken.", "Which printer is broken?", "second"),
    Fact("Our budget for the party is 640 dollars.", "How big is the budget for the party?", "640"),
    Fact("I play chess with Mr. Okonkwo.", "With whom do I play chess?", "okonkwo"),
    Fact("My shift starts at 5:45.", "When does my shift start?", "5:45"),
    Fact("The tent is in the attic.", "Do you know where the tent is?", "attic"),
    Fact("I speak Basque.", "Which language do I speak?", "basque"),
    Fact("My blood type is AB negative.", "Remind me of my blood type.", "ab"),
    Fact("There are 9 lambs in the barn.", "How many lambs are in the barn?", r"\b9\b|nine"),
)
"""Sixty facts that were looked at while tuning."""

HELD_OUT = (
    Fact("My seat on the ferry is 22F.", "Which seat do I have on the ferry?", "22f"),
    Fact("The gardener is called Ignatius.", "What is the gardener called?", "ignatius"),
    Fact("I bought the piano in 1998.", "In which year did I buy the piano?", "1998"),
    Fact("My cousin Leocadia is a pilot.", "What does my cousin do for a living?", "pilot"),
    Fact("Our house has a purple door.", "What colour is the door of our house?", "purple"),
    Fact(
        "The next full meeting is on 12 September.", "When is the next full meeting?", "12 sep|september 12"
    ),
    Fact("I have lunch at half past eleven.", "When do I have lunch?", "half past eleven|11:30"),
    Fact("The master key hangs behind the clock.", "Where does the master key hang?", "clock"),
    Fact("My favourite colour is turquoise.", "Which colour do I like best?", "turquoise"),
    Fact("We named our canoe Pelican.", "What did we name our canoe?", "pelican"),
    Fact("My landlord is Mr. Dvorak.", "Who is my landlord?", "dvorak"),
    Fact("There are 46 chairs in the hall.", "How many chairs are there in the hall?", "46"),
    Fact("My nephew studies geology in Graz.", "What does my nephew study?", "geolog"),
    Fact("I left my umbrella on tram 5.", "Where did I leave my umbrella?", r"tram|\b5\b"),
    Fact("The code for the side door is 9035#.", "What is the code for the side door?", "9035"),
    Fact("My wife comes from Galway.", "Where is my wife from?", "galway"),
    Fact("I am 44 years old.", "How old am I?", "44"),
    Fact("Ms. Adeyemi leads the night shift.", "Who leads the night shift?", "adeyemi"),
    Fact("My bread needs 35 minutes in the oven.", "How long does my bread need in the oven?", "35"),
    Fact("I'm called Wendeline.", "Tell me my name, please.", "wendeline"),
)
"""Twenty facts that were not."""

"""Previews of packet links: the contents that chats show, and contents that they never show."""

from html.parser import HTMLParser

from redpacket.packets.api.link_preview import NEUTRAL, page_of, preview_of

BASE = "https://page.example"
EVIL = '"><script src="//evil.example"></script>\'&amp;<meta http-equiv="refresh">'


class _Tags(HTMLParser):
    """Parser that collects a document's meta tags and its other tags, as a crawler does."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.metas: dict[str, str] = {}
        self.tags: list[str] = []
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        named = {name: value or "" for name, value in attrs}
        if name := named.get("property") or named.get("name") or named.get("http-equiv"):
            assert name not in self.metas
            self.metas[name] = named["content"]


def test_a_preview_names_greeting_sender_and_cover() -> None:
    preview = preview_of("平安喜乐", "妈妈", "https://covers.example/1.png")

    metas = _Tags(page_of(preview, "abc", BASE)).metas

    assert metas["og:title"] == "平安喜乐"
    assert metas["og:description"] == metas["description"] == "妈妈发来一个红包，快来领取"
    assert metas["og:image"] == "https://covers.example/1.png"
    assert metas["og:url"] == f"{BASE}/packets/abc"
    assert metas["refresh"] == f"0; url={BASE}/packets/abc?page"


def test_a_restricted_packet_has_neutral_texts_and_the_picture_of_the_page() -> None:
    metas = _Tags(page_of(NEUTRAL, "abc", BASE)).metas

    assert (metas["og:title"], metas["og:description"]) == ("红包", "点开看看手气")
    assert metas["og:image"] == f"{BASE}/share.png"


def test_texts_of_a_stranger_inject_no_html() -> None:
    preview = preview_of(EVIL, EVIL, f"https://covers.example/{EVIL}")

    tags = _Tags(page_of(preview, "abc", BASE))
    plain = _Tags(page_of(NEUTRAL, "abc", BASE))

    assert tags.tags == plain.tags
    assert tags.metas.keys() == plain.metas.keys()
    assert tags.metas["og:title"] == EVIL
    assert tags.metas["og:image"] == f"https://covers.example/{EVIL}"

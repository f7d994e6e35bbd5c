"""Previews of packet links for chat crawlers, which run no scripts.

A preview contains the greeting and the sender, never an amount. Exclusive packets, prizes and
signed but unknown ids have the same neutral preview, which does not reveal whether a packet exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

PICTURE_PATH = "/share.png"
CONTENT_TYPE = "text/html; charset=utf-8"
CACHING = "public, max-age=300"
SECURITY_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


@dataclass(frozen=True, slots=True)
class Preview:
    """Preview of a link in a chat; without *cover_url*, it shows the page's own picture."""

    title: str
    description: str
    cover_url: str | None = None


NEUTRAL = Preview("红包", "点开看看手气")


def preview_of(greeting: str, sender: str, cover_url: str | None) -> Preview:
    """Return the preview of a packet that anyone with the link may see."""
    return Preview(greeting or NEUTRAL.title, f"{sender}发来一个红包，快来领取", cover_url)


def page_of(preview: Preview, packet_id: str, base_url: str) -> str:
    """Return the HTML document. It redirects users who were mistaken for crawlers to the page."""
    url = f"{base_url}/packets/{packet_id}"
    tags = {
        "og:type": "website",
        "og:site_name": NEUTRAL.title,
        "og:title": preview.title,
        "og:description": preview.description,
        "og:url": url,
        "og:image": preview.cover_url or base_url + PICTURE_PATH,
    }
    metas = _meta("name", "description", preview.description)
    metas += "".join(_meta("property", name, content) for name, content in tags.items())
    metas += _meta("http-equiv", "refresh", f"0; url={url}?page")
    title, description, way_on = map(escape, (preview.title, preview.description, f"{url}?page"))
    return (
        '<!doctype html><html lang="zh-CN"><head><meta charset="utf-8">'
        f"<title>{title}</title>{metas}</head>"
        f'<body><p><a href="{way_on}">{title}</a></p><p>{description}</p></body></html>'
    )


def _meta(kind: str, name: str, content: str) -> str:
    return f'<meta {kind}="{name}" content="{escape(content)}">'

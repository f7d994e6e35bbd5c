"""Environment variables of WeChat."""

from __future__ import annotations

from typing import NamedTuple

from redpacket.platform.settings import Settings, Variable, resolved


class Scene(NamedTuple):
    """WeChat transfer scene, with its required reports."""

    scene_id: str
    report_infos: tuple[tuple[str, str], ...]


def _scene(text: str) -> Scene:
    scene_id, *items = text.split(",")
    pairs = [item.partition("=") for item in items]
    if not (pairs and all(name and content for name, _, content in pairs)):
        raise ValueError("not SCENE,name=content[,name=content]")
    return Scene(scene_id, tuple((name, content) for name, _, content in pairs))


class WeChatSettings(Settings):
    """Settings of WeChat."""

    wechat_secret_arn = Variable("WECHAT_SECRET_ARN", str, default="")
    """Secret of the merchant; empty disables WeChat Pay."""
    wechat_mch_id = Variable("WECHAT_MCH_ID", resolved, default="")
    """Merchant of the callbacks that GatewayFunction verifies."""
    wechat_public_key_id = Variable("WECHAT_PUBLIC_KEY_ID", resolved, default="")
    """Id of the key that verifies callbacks."""
    wechat_public_key = Variable("WECHAT_PUBLIC_KEY", resolved, default="")
    """Key that verifies callbacks."""
    wechat_api_v3_key = Variable("WECHAT_API_V3_KEY", resolved, default="")
    """Key that decrypts callbacks of WeChat Pay; empty disables them."""
    wechat_scene = Variable("WECHAT_SCENE", _scene)
    """Scene of each transfer with its reports; fixed with each withdrawal."""
    wechat_issuer_url = Variable("WECHAT_ISSUER_URL", str, default="")
    """Issuer URL of WeChat sign-in tokens; empty disables it."""
    wechat_issuer_secret_arn = Variable("WECHAT_ISSUER_SECRET_ARN", str)
    """Secret with the keys that sign WeChat sign-in tokens."""

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
    """ARN of the merchant's secret; an empty value disables WeChat Pay."""
    wechat_mch_id = Variable("WECHAT_MCH_ID", resolved, default="")
    """Merchant whose callbacks GatewayFunction accepts."""
    wechat_public_key_id = Variable("WECHAT_PUBLIC_KEY_ID", resolved, default="")
    """Id of the key that verifies callbacks."""
    wechat_public_key = Variable("WECHAT_PUBLIC_KEY", resolved, default="")
    """Key that verifies callbacks."""
    wechat_api_v3_key = Variable("WECHAT_API_V3_KEY", resolved, default="")
    """Key that decrypts WeChat Pay's callbacks; an empty value disables callbacks."""
    wechat_scene = Variable("WECHAT_SCENE", _scene)
    """Transfer scene with its required reports; each withdrawal stores a copy."""
    wechat_issuer_url = Variable("WECHAT_ISSUER_URL", str, default="")
    """Issuer URL of the tokens that WeChat sign-in returns; an empty value disables sign-in."""
    wechat_issuer_secret_arn = Variable("WECHAT_ISSUER_SECRET_ARN", str)
    """ARN of the secret with the keys that sign the tokens of WeChat sign-in."""

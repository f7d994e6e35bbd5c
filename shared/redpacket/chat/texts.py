"""Bot texts in Chinese and English."""

from __future__ import annotations

from redpacket.platform.errors import InvalidRequest, RedPacketError

_USAGE_ZH = """发红包：/hongbao {amount} 10 恭喜发财
加上 口令=芝麻开门 要说口令，加上 +link 群外也能凭链接领"""
_USAGE_EN = """Send: /hongbao {amount} 10 Good luck
Add passphrase=WORD to ask for it, and +link to let anyone with the link take a share"""

_WORDS = {
    "card_title": ("🧧 {name} 的红包", "🧧 Red packet of {name}"),
    "somebody": ("某位群友", "A member"),
    "say_it": ("🔑 回复这个红包，说出口令就能领", "🔑 Reply to this packet with its passphrase"),
    "progress": (
        "已领 {claimed}/{count} 个，共 {total}",
        "{claimed} of {count} taken of {total}",
    ),
    "claim": ("{name}  {amount}", "{name}  {amount}"),
    "luckiest": ("👑 {name}  {amount}  手气最佳", "👑 {name}  {amount}  Best luck"),
    "emptied": ("{count} 个红包，{time}抢光", "All {count} taken in {time}"),
    "ended": (
        "已结束，领取了 {claimed}/{count} 个，其余退回",
        "Ended: {claimed} of {count} taken. The rest is returned",
    ),
    "button": ("抢红包", "Open"),
    "minutes": ("{minutes} 分 {seconds} 秒", "{minutes} min {seconds} s"),
    "seconds": ("{seconds} 秒", "{seconds} s"),
    "won": ("🎉 恭喜，你抢到 {amount}", "🎉 You got {amount}"),
    "owned": ("你已经领过了：{amount}", "You already have your share: {amount}"),
    "not_posted": (
        "卡片发不出来，群里没人能领；红包到期后退回",
        "The card could not be posted. The packet returns to you when it expires",
    ),
    "balance": ("你的余额：{amount}", "Your balance: {amount}"),
    "only_groups": ("请在群里发红包", "Send packets in a group"),
    "not_admitted": ("这个群还没有开通红包", "Packets are not enabled in this chat"),
    "admit": (
        "本群还没有开通红包。管理员可以运行：\n{command}",
        "Packets are not enabled in this chat. An operator can run:\n{command}",
    ),
    "usage": (_USAGE_ZH, _USAGE_EN),
    "help": (
        f"{_USAGE_ZH}\n/balance 查看余额\n口令红包：回复它，说出口令\n网页版：{{link}}",
        f"{_USAGE_EN}\n/balance shows your balance\nPassphrase: reply to the packet\nWeb: {{link}}",
    ),
}

_REFUSALS = {
    "packet_emptied": ("手慢了，红包已被抢光", "Too late: all shares are taken"),
    "packet_expired": ("红包已过期", "This packet has expired"),
    "packet_not_started": ("红包还没到开抢时间", "This packet is not open yet"),
    "packet_not_found": ("找不到这个红包", "This packet does not exist"),
    "not_in_audience": ("你不在本次红包的名单里", "You can't take part"),
    "passphrase_mismatch": ("口令不对，回复红包再说一次", "Wrong words. Reply to the packet again"),
    "rate_limited": ("操作太快了，请稍后再试", "Too fast. Try again later"),
    "switched_off": (
        "红包功能暂停中，钱都在，请稍后再试",
        "Paused. Nothing is lost. Try again later",
    ),
    "unavailable": (
        "结果还不确定，请再点一次，只算一次",
        "Not sure yet. Tap again: it counts once",
    ),
    "insufficient_funds": ("余额不足", "Your balance is too low"),
    "chat_day_exceeded": (
        "超过了本群或你今天的限额，可以到网页上发：{link}",
        "This exceeds today's limit for the chat or for you. Send it on the page: {link}",
    ),
    "split_impossible": ("这个金额分不成这么多个", "The amount can't be split into so many shares"),
    "invalid_request": ("红包没有发出，请检查：{fields}", "Nothing was sent. Check: {fields}"),
    "idempotency_key_reused": ("这张表单已经用过了", "This form was already used"),
    "internal_error": ("出错了，我们已收到报告", "Something went wrong. We have been notified"),
}
_OTHER = ("现在不行，请稍后再试", "This is not possible now")

_FIELDS = {
    "total_fen": ("金额", "amount"),
    "share_fen_max": ("单个金额", "amount of a share"),
    "count": ("个数", "shares"),
    "greeting": ("祝福语", "greeting"),
    "passphrase": ("口令", "passphrase"),
}


def words(language: str, key: str, **values: object) -> str:
    """Return the text *key* in a language."""
    return _in(language, _WORDS[key]).format(**values)


def refusal(language: str, error: RedPacketError, link: str) -> str:
    """Return the text for an error; *link* is the URL of the page."""
    errors = error.errors if isinstance(error, InvalidRequest) else []
    named = dict.fromkeys(each["field"] for each in errors)
    fields = ", ".join(_in(language, _FIELDS.get(name, (name, name))) for name in named)
    return _in(language, _REFUSALS.get(error.code, _OTHER)).format(fields=fields, link=link)


def duration(language: str, duration_ms: int) -> str:
    """Return the text for a duration, at least one second."""
    minutes, seconds = divmod(max(1, round(duration_ms / 1000)), 60)
    return words(language, "minutes" if minutes else "seconds", minutes=minutes, seconds=seconds)


def _in(language: str, texts: tuple[str, str]) -> str:
    return texts[0 if language == "zh" else 1]

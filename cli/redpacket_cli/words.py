"""Language of the terminal. The code has the English texts, and a catalog has the Chinese texts.

Text for people is translated when it is printed, so commands do not depend on the language. JSON is
not translated. `{}` stands for a value. The catalog's test reads the templates from the code.
"""

import re
from functools import cache

_chosen = {"language": "en"}

ZH = {
    # Columns and fields.
    "a day": "每日上限",
    "account": "账户",
    "amount": "金额",
    "amount_fen": "金额（分）",
    "approval": "审批",
    "asked at": "申请时间",
    "at": "时间",
    "attempts": "次数",
    "balance_fen": "余额（分）",
    "budget": "预算",
    "campaign": "活动",
    "campaign_id": "活动",
    "changes": "改动",
    "chat": "群聊",
    "chat_id": "群聊",
    "check": "检查",
    "claimed at": "领取时间",
    "connector": "平台",
    "commitment": "承诺值",
    "count": "个数",
    "created at": "发出时间",
    "created_at_ms": "发出时间",
    "dead": "已放弃",
    "default": "默认",
    "delayed": "延后",
    "detail": "详情",
    "died at": "放弃时间",
    "differences": "差异",
    "ends at": "结束",
    "email": "邮箱",
    "event": "事件",
    "examined": "已核对",
    "expected": "应为",
    "actual": "实为",
    "expires_at_ms": "到期时间",
    "failures in a row": "连续失败",
    "greeting": "祝福语",
    "highest": "上限",
    "hour (UTC)": "小时（UTC）",
    "in flight": "处理中",
    "is": "状态",
    "kind": "类型",
    "last failure": "上次失败",
    "last status": "上次状态",
    "last success": "上次成功",
    "left": "剩余",
    "lowest": "下限",
    "luckiest": "手气最佳",
    "message": "消息",
    "name": "名称",
    "nickname": "昵称",
    "opening": "打开方式",
    "outcome": "结果",
    "packet": "红包",
    "packet_id": "红包",
    "payout": "入账",
    "picture_id": "图片",
    "platform": "平台",
    "prize": "奖品",
    "queue": "队列",
    "roles": "角色",
    "rule": "规则",
    "sender": "发送者",
    "share": "份号",
    "share_url": "链接",
    "shares": "个数",
    "since": "时间",
    "split": "拆分方式",
    "starts at": "开始",
    "starts_at_ms": "开抢时间",
    "status": "状态",
    "subject": "对象",
    "switch": "开关",
    "title": "标题",
    "total": "总额",
    "total_fen": "总额（分）",
    "transfer_id": "流水号",
    "type": "类型",
    "url": "地址",
    "users": "用户",
    "value": "当前值",
    "waiting": "等待中",
    "webhook": "回调",
    "weight": "权重",
    "what": "内容",
    "why": "原因",
    # Cells of states.
    "OFF": "关",
    "on": "开",
    "off": "关",
    "ok": "正常",
    "warn": "注意",
    "fail": "失败",
    "unknown": "未知",
    "open": "可领",
    "unpaid": "待付款",
    "cancelled": "已取消",
    "emptied": "已领完",
    "closing": "结束中",
    "closed": "已结束",
    "lucky": "拼手气",
    "equal": "普通",
    "queued": "入账中",
    "settled": "已入账",
    "awaiting": "待审批",
    "approved": "已通过",
    "rejected": "已拒绝",
    "expired": "已过期",
    "goods": "实物",
    "code": "兑换码",
    "hidden": "未公开",
    # Results.
    "none": "没有",
    "More pages follow.": "后面还有。",
    "Everything adds up. Shares examined: {}": "账目全部相符。检查了 {} 份",
    "Claims not paid out: {}, since {}. Next: redpacket doctor": (
        "尚未入账：{} 份，自 {} 起。下一步：redpacket doctor"
    ),
    "Everything adds up in {} of {} checks; the others examined no rows.": (
        "{} 项检查（共 {} 项）账目全部相符；其余检查没有读到任何行。"
    ),
    "The run found more differences than these.": "差异不止这些。",
    "Rows since {} are left to the next run.": "{} 之后的行留待下一次对账。",
    "none: {} has no share of this packet": "没有：{} 没有这个红包的份额",
    "--user needs --packet": "--user 需要同时给出 --packet",
    "Differences": "差异",
    "{}  {}  {} of {} taken, {} in all": "{}  {}  已领 {}/{}，共 {}",
    ", empty in {} s": "，{} 秒后领完",
    "{} of {} taken, {} left, {} a second{}": "已领 {}/{}，剩 {}，每秒 {}{}",
    "{}  {}  version {}\n{} to {}\n{} left of {}; list of users: {}\n"
    "shares for one user: {}; rules: {}": (
        "{}  {}  版本 {}\n{} 至 {}\n剩 {}，预算 {}；用户名单：{}\n每人最多领：{}；规则：{}"
    ),
    "{} is not in the tables: take the id from a finding, a list or `claims export`": (
        "表里没有 {}：请从差异、列表或 `claims export` 里取它的编号"
    ),
    "about {}": "约 {} 条",
    "{} in all": "共 {} 条",
    # Findings of `doctor`.
    "alarm": "告警",
    "alarms": "告警",
    "api": "API",
    "approvals": "审批",
    "debts": "欠款",
    "returns": "退回",
    "switches": "开关",
    "queue {}": "队列 {}",
    "switch {}": "开关 {}",
    "webhook {}": "Webhook {}",
    "webhooks": "Webhook",
    "waits_for": "等待",
    "withdrawal_id": "提现",
    "withdrawals": "提现",
    "{} has version {}": "{} 的版本是 {}",
    "none is active": "没有触发",
    "all are on": "全部打开",
    "off: {}. Turn it on: redpacket switch on {}": "已关：{}。打开它：redpacket switch on {}",
    "{} given up. See redpacket dlq list {}": "已放弃 {} 条。查看：redpacket dlq list {}",
    "{} waiting, {} in flight, {} delayed, none given up": (
        "{} 条等待中，{} 条处理中，{} 条延迟，没有放弃的"
    ),
    "reconciliation": "对账",
    "no run yet": "尚未运行",
    "no difference in the run of {}": "{} 的对账没有差异",
    "{} differences in the run of {}. See docs/runbook/reconciliation-difference.md": (
        "{} 处差异，见于 {} 的对账。见 docs/runbook/reconciliation-difference.md"
    ),
    "none waits": "没有待办",
    "none waits longer than 30 minutes": "没有长时间等待的",
    "function {}": "函数 {}",
    "functions": "函数",
    "they are active": "均可调用",
    "{}: it refuses calls. See docs/runbook/functions-throttled.md": (
        "{}：拒绝调用。见 docs/runbook/functions-throttled.md"
    ),
    "provider {}": "支付渠道 {}",
    "the row's value is not {}: run redpacket reconcile again": (
        "该行的值不是 {}：请重新运行 redpacket reconcile"
    ),
    "not configured": "未配置",
    "not called yet": "还没有调用过",
    "answering, last at {}": "正常应答，最近一次 {}",
    "the merchant account is out of money: refill it. See docs/runbook/withdrawals-wait.md": (
        "商户余额不足，请充值。见 docs/runbook/withdrawals-wait.md"
    ),
    "no answer since {}. See docs/runbook/withdrawals-wait.md": (
        "自 {} 起没有应答。见 docs/runbook/withdrawals-wait.md"
    ),
    "none is paused": "没有暂停的",
    "{} have no result after 30 minutes. See redpacket withdrawals list": (
        "{} 笔超过 30 分钟没有结果。查看：redpacket withdrawals list"
    ),
    "{} failures in a row. Test it: redpacket webhooks test {}": (
        "连续失败 {} 次。测试：redpacket webhooks test {}"
    ),
    "{} wait for an operator. See {}": "{} 项等待运营处理。查看：{}",
    # Progress and questions.
    "{} packets so far": "已完成 {} 个红包",
    "{} rows so far": "已导出 {} 行",
    "{} so far": "已完成 {}",
    "campaign {}": "活动 {}",
    "Prize {} failed; everything before it is saved. Correct it, and repeat the command.": (
        "奖品 {} 没有成功，它前面的已保存。请改正后重复这条命令。"
    ),
    "The rest is not saved: repeat the command after the approval.": (
        "其余内容没有保存：批准后请重复这条命令。"
    ),
    "Nothing changed: the request waits for approval. Another operator must run: {}": (
        "什么都没有改变：等待审批。请另一位运营执行：{}"
    ),
    "Erase {} permanently?": "永久删除 {}？",
    "Replace the {} users on the list of {} by {}?": "把 {1} 名单上的 {0} 人换成 {2} 人？",
    "Delete about {} messages of {} permanently?": "永久删除 {1} 的约 {0} 条消息？",
    # Failures: what is wrong, and what to do next.
    "no local stack runs in {}: start one with `make up`, or name one on AWS with --stack": (
        "{} 里没有运行中的本地环境：用 `make up` 启动，或用 --stack 指定 AWS 上的栈"
    ),
    "{} has no log; choose one of: {}": "{} 没有日志；有日志的是：{}",
    "no such log: the gateway of a local stack writes none": (
        "这里没有这个日志：本地环境的网关不写日志"
    ),
    "cache": "缓存",
    "it answers": "有应答",
    "it is full, so first grabs fail. See docs/runbook/cache-full.md": (
        "已满，首次抢会失败。见 docs/runbook/cache-full.md"
    ),
    "it lost its data at {}. See docs/runbook/cache-lost.md": (
        "{} 丢失过数据。见 docs/runbook/cache-lost.md"
    ),
    "ElastiCache says {}. See docs/runbook/cache-lost.md": (
        "ElastiCache 的状态是 {}。见 docs/runbook/cache-lost.md"
    ),
    "this needs the stack's outputs: name the stack with --stack": (
        "需要栈的输出：请用 --stack 指定"
    ),
    "only a local stack issues tokens for users: pass the host's own with --user-token, or to "
    "`load` with --tokens": (
        "只有本地环境可以替用户签发令牌：请用 --user-token 提供宿主签发的令牌，`load` 用 --tokens"
    ),
    "no operator token: pass one with the scope hongbao/admin by --token or REDPACKET_TOKEN": (
        "没有运营令牌：请用 --token 或 REDPACKET_TOKEN 提供 scope 为 hongbao/admin 的令牌"
    ),
    "the issuer refused the operator client with {}: pass a token with --token, and check the "
    "client in Cognito": (
        "签发方拒绝了运营客户端（{}）：请用 --token 提供令牌，并检查 Cognito 里的客户端"
    ),
    "the token is missing, expired, or from another issuer: get a new one": (
        "令牌缺失、已过期，或不是这个 API 的签发方签发的：请重新获取"
    ),
    "--api is not an address, like https://HOST: {}": "--api 不是 https://HOST 这样的地址：{}",
    "the API does not answer. Repeat the command, or read docs/runbook/api-errors.md. {}": (
        "API 没有回应。请重复这条命令，或看 docs/runbook/api-errors.md。{}"
    ),
    "the API does not answer. {}": "API 没有回应。{}",
    "the token issuer does not answer. Repeat the command: {}": (
        "令牌签发方没有回应。请重复该命令：{}"
    ),
    "The result is unknown. Repeat the command only with --key {}": (
        "结果未知。重复这条命令时必须加上 --key {}"
    ),
    "name the user: --as USER on a local stack, --user-token on AWS": (
        "请指定用户：本地环境用 --as USER，AWS 上用 --user-token"
    ),
    "name the sender: --as USER on a local stack, --user-token on AWS": (
        "请指定发送者：本地环境用 --as USER，AWS 上用 --user-token"
    ),
    "no log line of the last day has {}: check the id, or give --packet": (
        "最近一天的日志里没有 {}：请检查 id，或给出 --packet"
    ),
    "the stack has no user pool. Deploy it with OperatorIssuer=pool, or add operators at your own "
    "issuer; on a local stack the console lets anyone choose a role": (
        "这个栈没有用户池。请用 OperatorIssuer=pool 部署，或在自己的签发方添加运营账号；"
        "本地环境的控制台可以任选角色"
    ),
    "{} is not an e-mail address, like ada@example.com": "{} 不是邮箱地址，例如 ada@example.com",
    "{} already has an account": "{} 已经有账户",
    "the account of {} is disabled, external, or has no verified email: delete it": (
        "{} 的账户已停用、来自外部，或未验证邮箱：请删除它"
    ),
    "Make {} an operator, and reset the account's password?": (
        "让 {} 成为运营，并重设该账户的密码？"
    ),
    "AWS credentials are missing: check them with aws sts get-caller-identity": (
        "没有 AWS 凭证：用 aws sts get-caller-identity 检查"
    ),
    "AWS refused {}: {}. Repeat the command": "AWS 拒绝了 {}：{}。请重复这条命令",
    "AWS refused {}: {}. List the names: aws cloudformation list-stacks or list-stack-resources": (
        "AWS 拒绝了 {}：{}。列出名称：aws cloudformation list-stacks 或 list-stack-resources"
    ),
    "AWS refused {}: {}. Check your role: aws sts get-caller-identity": (
        "AWS 拒绝了 {}：{}。检查角色：aws sts get-caller-identity"
    ),
    "AWS does not answer: {}. Check the network, and repeat the command": (
        "AWS 没有回应：{}。请检查网络，再重复这条命令"
    ),
    "AWS is not set up: {}. Set AWS_PROFILE and AWS_DEFAULT_REGION": (
        "AWS 没有配置好：{}。请设置 AWS_PROFILE 和 AWS_DEFAULT_REGION"
    ),
    "{} failed: {}. See redpacket logs {}": "{} 失败：{}。查看：redpacket logs {}",
    "the cache refused: {}. Check the command and its arguments": (
        "缓存拒绝了：{}。请检查命令和参数"
    ),
    "the cache does not answer: {}. See docs/runbook/cache-lost.md. On AWS, run this inside the "
    "stack's VPC": (
        "缓存没有回应：{}。见 docs/runbook/cache-lost.md。在 AWS 上请在栈的 VPC 内运行"
    ),
    "{} is not a mapping: write lines like `title: Spring`": (
        "{} 里不是键值映射：请写成 `title: Spring` 这样的行"
    ),
    "{} is neither YAML nor JSON: {}": "{} 既不是 YAML 也不是 JSON：{}",
    "{} can't be read: {}. Create it with `redpacket reconcile`": (
        "{} 无法读取：{}。请用 `redpacket reconcile` 生成"
    ),
    "{} can't be read: {}. Name a UTF-8 file, or - for standard input": (
        "{} 无法读取：{}。请指定 UTF-8 文件，或用 - 表示标准输入"
    ),
    "{} can't be written: {}. No file was left; name another one with --to": (
        "{} 无法写入：{}。没有留下内容；请用 --to 指定别的文件"
    ),
    "{}: `prizes` must map the id of each prize to its fields": (
        "{}：`prizes` 应把每个奖品的 id 对应到它的字段"
    ),
    "{} has no codes or repeats one: write each code once, one per line": (
        "{} 里没有兑换码，或有重复的：每行一个，各写一次"
    ),
    "{} has a prize without fields: write them below its id": (
        "{} 里有奖品没有字段：请写在它的 id 下面"
    ),
    "{} has a value that JSON does not have: {}. Quote dates; use finite numbers": (
        "{} 里有 JSON 没有的值：{}。日期请加引号，数字请用有限值"
    ),
    "{} needs a zone, like 2027-01-29T20:00:00+08:00": (
        "{} 需要时区，例如 2027-01-29T20:00:00+08:00"
    ),
    "{} is not a time: {}. Write 2027-01-29T20:00:00+08:00": (
        "{} 不是时间：{}。请写成 2027-01-29T20:00:00+08:00"
    ),
    "{} has no users: write one per line": "{} 里没有用户：请每行写一个",
    "{} has no tokens: write one per line": "{} 里没有令牌：请每行写一个",
    "A sheet has at most {} rows. Name a .csv file": "一个工作表最多 {} 行，请换成 .csv 文件",
    "--timezone {} is not a time zone, like Asia/Shanghai": (
        "--timezone {} 不是时区，例如 Asia/Shanghai"
    ),
    "{} is not a day like 2026-01-31": "{} 不是日期，例如 2026-01-31",
    "--day and --skip are for `statements`; --skip needs --day": (
        "--day 和 --skip 用于 `statements`；--skip 需要 --day"
    ),
    "--return is for `statements`, without another option": (
        "--return 只用于 `statements`，不能与其他选项一起用"
    ),
    "{} is neither a number nor `default`: see `redpacket limits show`": (
        "{} 既不是数字也不是 `default`：见 `redpacket limits show`"
    ),
    "{} is not money: only CNY has a tax report": "{} 不是货币：只有 CNY 有个税报表",
    "{} is not an amount: write {}, or 8888 in minor units": (
        "{} 不是金额：请写 {}，或以最小单位写 8888"
    ),
    "{} can't be an id: use up to 128 letters, digits and any of _ ~ . -": (
        "{} 不能作为 id：最多 128 个字母、数字和 _ ~ . -"
    ),
    "{} can't be a user: use up to 128 letters, digits and any of _ . @ : | + = -": (
        "{} 不能作为用户：最多 128 个字母、数字和 _ . @ : | + = -"
    ),
    # Names of the API's problem codes. The output appends the API's detail.
    "approval_not_found": "没有这条审批",
    "campaign_not_found": "找不到这个活动",
    "chat_not_found": "没有允许过这个群聊",
    "forbidden": "没有权限",
    "four_eyes": "需要另一位运营批准",
    "idempotency_key_reused": "这个幂等键已用于另一个请求",
    "insufficient_funds": "余额不足",
    "invalid_request": "请求有误",
    "packet_not_found": "找不到这个红包",
    "picture_not_found": "找不到这张图片",
    "prize_not_found": "找不到这个奖品",
    "rate_limited": "请求太快",
    "split_impossible": "这个金额和个数无法拆分",
    "switched_off": "已被开关停用",
    "unavailable": "暂时不可用，请重试",
    "version_conflict": "已被别人修改，请重新读取",
    "withdrawal_not_found": "找不到这笔提现",
}
"""Chinese translations of the English texts in the code, and of words that the API returns."""


def use(language: str) -> None:
    """Choose the language of all later output."""
    _chosen["language"] = language


def translate(text: str) -> str:
    """Return *text* in the chosen language, or unchanged if it is not in the catalog."""
    if _chosen["language"] == "en":
        return text
    if text in ZH:
        return ZH[text]
    for pattern, chinese in _templates():
        if matched := pattern.fullmatch(text):
            return chinese.format(*matched.groups())
    return text


@cache
def _templates() -> list[tuple[re.Pattern[str], str]]:
    """Return patterns that capture the values, the longest fixed text first."""
    return [
        (re.compile(re.escape(english).replace(r"\{\}", "(.*)"), re.DOTALL), ZH[english])
        for english in sorted(ZH, key=lambda text: len(text.replace("{}", "")), reverse=True)
        if "{}" in english
    ]

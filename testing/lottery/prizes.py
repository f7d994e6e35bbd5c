"""Prizes in the form that operators write, so that sizes match those of real campaigns."""

import base64
import json
import random

from redpacket.lottery.dynamodb.prizes import DynamoPrizes
from redpacket.lottery.model.lottery import Prize, PrizeKind

_BRANDS = """
华为 小米 苹果 海尔 美的 格力 戴森 索尼 佳能 联想 茅台 五粮液 农夫山泉 三只松鼠 良品铺子 百草味
周大福 老凤祥 兰蔻 雅诗兰黛 花西子 完美日记 安踏 李宁 耐克 阿迪达斯 优衣库 星巴克 瑞幸 喜茶
奈雪 海底捞 肯德基 必胜客 京东 盒马 顺丰 携程 滴滴 哈啰
"""
_GOODS = """
旗舰手机 无线耳机 智能手表 平板电脑 空气炸锅 扫地机器人 电饭煲 保温杯 蓝牙音箱 充电宝 礼品卡
代金券 双肩包 行李箱 羽绒服 跑步鞋 口红套装 护肤礼盒 坚果礼包 年货大礼包 咖啡券 奶茶券
自助餐券 电影票 机票抵扣券 酒店体验券 加湿器 台灯 机械键盘 游戏手柄
"""
_EDITIONS = ("标准版", "限定款", "家庭装", "新年版")
_TERMS = """
由品牌方直接发货 七个工作日内寄出 限中国大陆地区使用 颜色随机，不可指定 有效期至活动结束后三十天
不可与其他优惠同时使用 需凭身份证到门店领取 中奖后请在个人中心填写收货地址 虚拟商品，即时到账
享全国联保一年 仅限本人使用，转让无效 满一百元可用 每个账号限用一张 到店核销，节假日通用
"""


def real_prizes(campaign_id: str, count: int, *, seed: int = 7) -> list[Prize]:
    """Return *count* prizes with titles, terms, pictures and stock; every fifth is cash."""
    rng = random.Random(seed)
    return [_real_prize(campaign_id, number, rng) for number in range(count)]


def noisy_prizes(campaign_id: str, count: int, *, seed: int = 7) -> list[Prize]:
    """Return prizes whose descriptions are 500 random characters and so hardly compress."""
    rng = random.Random(seed)
    return [
        Prize(
            campaign_id,
            f"prize-{number:03d}",
            "".join(chr(rng.randrange(0x4E00, 0x9FA5)) for _ in range(50)),
            PrizeKind.GOODS,
            weight=rng.randrange(10**9),
            total=rng.randrange(10**6),
            image_url=f"https://img.example.com/{rng.randbytes(100).hex()}",
            description="".join(chr(rng.randrange(0x4E00, 0x9FA5)) for _ in range(500)),
        )
        for number in range(count)
    ]


def _real_prize(campaign_id: str, number: int, rng: random.Random) -> Prize:
    brand, goods, edition = (
        rng.choice(_BRANDS.split()),
        rng.choice(_GOODS.split()),
        rng.choice(_EDITIONS),
    )
    terms = "；".join(rng.sample(_TERMS.split(), 3))
    is_cash = number % 5 == 0
    total = rng.choice((10, 50, 100, 500, 1_000, 20_000))
    packet_id = base64.urlsafe_b64encode(rng.randbytes(24)).decode()
    attributes = {"level": rng.randrange(1, 6), "sku": f"SKU{rng.randrange(10**8):08d}"}
    return Prize(
        campaign_id,
        f"prize-{number:03d}",
        f"{brand} {goods} {edition}",
        PrizeKind.PACKET if is_cash else PrizeKind.GOODS,
        weight=rng.randrange(1, 1_000_000),
        total=total,
        per_day=rng.choice((0, 0, 10, 100)),
        amount_fen=rng.randrange(100, 20_000) if is_cash else None,
        image_url=f"https://img.example.com/campaigns/spring-2027/{rng.randbytes(16).hex()}.jpg",
        description=f"{brand}{goods}一份，价值{rng.randrange(10, 9_999)}元，{terms}。",
        attributes=json.dumps(attributes, separators=(",", ":")),
        once_per_user=number % 3 == 0,
        version=rng.randrange(1, 4),
        packets=((packet_id, total),) if is_cash else (),
    )


def write_prize(prizes: DynamoPrizes, prize: Prize) -> None:
    """Write *prize* at the current version of its campaign."""
    seen = prizes.find_snapshot(prize.campaign_id)
    assert seen
    assert prizes.put_prize(prize, seen)

"""Fakes of speech recognition, in the browser and in WeChat's JS-SDK."""

from playwright.sync_api import Page

WECHAT_AGENT = (
    "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/116.0 Mobile MicroMessenger/8.0.50"
)
_RECOGNITION = """() => {
    globalThis.SpeechRecognition = class {
        start() { this.onresult({ results: [[{ transcript: "新年快乐" }]] }); }
    };
}"""
_JS_SDK = """globalThis.wx = {
    config({ signature }) { this.signature = signature; },
    ready(done) { if (this.signature.length === 40) done(); },
    error() {},
    onVoiceRecordEnd() {},
    startRecord({ success }) { success(); document.body.dataset.recording = "yes"; },
    stopRecord({ success }) { success({ localId: "voice" }); },
    translateVoice({ success }) { success({ translateResult: "新年快乐。" }); },
};"""


def fake_speech_recognition(page: Page) -> None:
    """Make the open page recognize 新年快乐 at once."""
    page.evaluate(_RECOGNITION)


def fake_js_sdk(page: Page) -> None:
    """Serve a JS-SDK that accepts any signature and recognizes 新年快乐. Call this function
    before opening the page, because the page loads the JS-SDK at once for its share card.
    """
    page.route("https://res.wx.qq.com/**", lambda route: route.fulfill(body=_JS_SDK))

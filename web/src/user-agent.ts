/** The browser that shows the page. */

/** Whether the page runs in WeChat's own browser. */
export function isInWeChat(): boolean {
  return navigator.userAgent.includes("MicroMessenger");
}

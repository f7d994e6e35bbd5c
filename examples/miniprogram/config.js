/** URL of your deployment, whose host is a request domain of the mini-program, and your unit of account. */

module.exports = { api: "https://packets.example/api", unit: { symbol: "元", decimals: 2 } };

/** Address of your packets, a request domain of the mini-program, and the unit of account of your deployment. */

module.exports = { api: "https://packets.example/api", unit: { symbol: "元", decimals: 2 } };

/** Address of your packets: a host that is registered as request domain of the mini-program. */

module.exports = { api: "https://packets.example/api" };

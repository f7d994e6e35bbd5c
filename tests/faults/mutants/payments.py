"""Payments, packets that they fund, withdrawals, and what is said of the outside."""

from __future__ import annotations

from functools import partial

from tests.faults.mutants.mutant import Mutant

of_payments = partial(Mutant, of="payments")

MUTANTS = [
    # Payments
    of_payments(
        "a payment is credited with each of its transactions",
        "HAS_NO_TRANSACTION",
        "attribute_exists(pk) AND attribute_not_exists(transaction_id)",
        "attribute_exists(pk)",
    ),
    of_payments(
        "what is given back is credited",
        "IS_NOT_GIVEN_BACK",
        "attribute_not_exists(pk)",
        "attribute_not_exists(nothing)",
    ),
    of_payments(
        "what was credited is given back",
        "IS_NOT_CREDITED_BY_IT",
        "attribute_exists(pk) AND transaction_id <> :transaction_id",
        "attribute_exists(pk)",
    ),
    of_payments(
        "a transaction is given back as often as it is told",
        "IS_DUE_BACK",
        "return_status = :due",
        "attribute_exists(pk)",
    ),
    of_payments(
        "two refunds by hand are counted as one",
        "IS_REVERSED_AS_SEEN",
        "attribute_exists(transaction_id) AND reversed_fen = :seen_fen",
        "attribute_exists(transaction_id)",
    ),
    of_payments(
        "more is collected than is owed",
        "OWES_AS_MUCH",
        "balance_fen <= :at_most",
        "attribute_exists(pk)",
    ),
    of_payments(
        "a payment that is closed is credited where it must go back",
        "DynamoPayments.credit",
        'condition = f"{HAS_NO_TRANSACTION} AND {IS_PENDING}"',
        "condition = HAS_NO_TRANSACTION",
    ),
    of_payments(
        "any amount is credited",
        "mismatches",
        '("amount_fen", payment.amount_fen, found.amount_fen),',
        "",
    ),
    of_payments(
        "any currency is credited", "mismatches", '("currency", CURRENCY, found.currency),', ""
    ),
    of_payments(
        "another app's payments are credited",
        "mismatches",
        '("app_id", merchant.app_id, found.merchant.app_id),',
        "",
    ),
    of_payments(
        "another merchant's payments are credited",
        "mismatches",
        '("mch_id", merchant.mch_id, found.merchant.mch_id),',
        "",
    ),
    of_payments(
        "anybody's payment is credited to a client of the app",
        "mismatches",
        "if payment.method is PayMethod.JSAPI and payment.payer:",
        "if False:",
    ),
    of_payments(
        "a callback names another order's transaction",
        "confirm_payment",
        "named and named.number == number",
        "named",
    ),
    of_payments(
        "a payment is closed while its order can be paid",
        "_close",
        "if found.state is OrderState.UNPAID or (",
        "if False or (",
    ),
    of_payments(
        "an order that is not found yet counts as closed",
        "_close",
        "found.state is OrderState.NOT_FOUND and now_ms < settled_at_ms",
        "False",
    ),
    of_payments(
        "a payment is told of once and never asked for again",
        "payments:next_look_ms",
        "pause_ms = min(",
        "return None\n    pause_ms = min(",
    ),
    of_payments(
        "a payment that always fails holds up all others",
        "sweep_payments:_confirm",
        "ports.book.look_again(number, ports.clock.now_ms() + AGAIN_MS)",
        "pass",
    ),
    of_payments(
        "a refund by hand takes the account below zero",
        "_reverse",
        "wallet_fen = min(max(has_fen, 0), found.amount_fen)",
        "wallet_fen = found.amount_fen",
    ),
    of_payments(
        "more is refunded than came in",
        "_reverse",
        "not 0 < found.amount_fen <= left_fen",
        "False",
    ),
    of_payments(
        "a refund of ours is taken from the user as well",
        "note_refund",
        "if refund_no in returns:",
        "if False:",
    ),
    # Packets that a payment funds
    of_payments(
        "a cancelled packet is opened by its payment",
        "WAITS_FOR_THIS_PAYMENT",
        "#status = :unpaid AND payment_id = :number",
        "payment_id = :number",
    ),
    of_payments(
        "a packet is cancelled after its payment",
        "IS_UNPAID",
        "#status = :unpaid",
        "attribute_exists(pk)",
    ),
    of_payments(
        "an unpaid packet is loaded",
        "load_packet:_get",
        "if packet.status is PacketStatus.UNPAID:",
        "if False:",
    ),
    of_payments(
        "claims of a packet that is not paid for are paid",
        "_checked",
        "if packet.funded_at_ms is None:",
        "if False:",
    ),
    of_payments(
        "an unpaid packet is closed and refunded",
        "IS_DUE",
        "expires_at_ms <= :now_ms AND #status = :open",
        "expires_at_ms <= :now_ms",
    ),
    of_payments(
        "unpaid packets hold money",
        "Packet.funded_fen",
        "return 0 if self.funded_at_ms is None else self.terms.total_fen",
        "return self.terms.total_fen",
    ),
    of_payments(
        "an unpaid packet takes no place among the open ones",
        "DynamoFunding._open_unpaid",
        "condition=None if open_max is None else HAS_ROOM_UNPAID",
        "condition=None",
    ),
    of_payments(
        "a paid packet is compared as if it were unpaid",
        "DynamoPayments.credit",
        'counts[transfer.debit] = {"unpaid_count": -1}',
        "pass",
    ),
    of_payments(
        "a packet's life begins before its payment",
        "confirm_payment:_funding",
        "expires_at_ms=now_ms + packet.expires_at_ms - packet.starts_at_ms",
        "expires_at_ms=packet.expires_at_ms",
    ),
    of_payments(
        "a packet is cancelled without asking for its payment",
        "sweep_payments:cancel_unpaid",
        'confirm_payment(packet.payment_id or "", ports=ports)',
        "pass",
    ),
    of_payments(
        "a payment of a packet can't be found by its number",
        "DynamoFunding.fund",
        "if packet.payment_id:",
        "if False:",
    ),
    of_payments(
        "anybody begins the payment of a packet",
        "_start_cut_off",
        "packet.sender.user_id != user_id",
        "False",
    ),
    of_payments(
        "a user begins as many payments as they like",
        "HAS_BEGUN_FEWER",
        "begun_count < :count_max",
        "attribute_exists(begun_count)",
    ),
    of_payments(
        "payments of packets are not counted",
        "DynamoPayments.put_of_packet",
        "refused = self._dynamo.attempt([there, counted])",
        "refused = self._dynamo.attempt([there])",
    ),
    # Accounts at gateways
    of_payments(
        "an account of another user is bound",
        "IS_FREE_OR_THEIRS",
        "attribute_not_exists(user_id) OR user_id = :user_id",
        "attribute_not_exists(nothing)",
    ),
    of_payments(
        "two bindings at once leave two accounts",
        "HAS_ACCOUNT_AS_SEEN",
        "payee_hash = :seen_hash",
        "attribute_exists(payee_hash)",
    ),
    of_payments(
        "a binding leaves the consent that was just asked for",
        "HAS_NO_CONSENT",
        "attribute_not_exists(asked_no)",
        "attribute_exists(pk)",
    ),
    of_payments(
        "an account that was given up stays taken",
        "DynamoPayees._binding",
        "writes += [Guarded(rebound, _has_changed), Guarded(freed, _is_not_theirs)]",
        "writes += [Guarded(rebound, _has_changed)]",
    ),
    of_payments(
        "the first of two accounts at once is forgotten",
        "DynamoPayees._binding",
        "condition=HAS_NO_ACCOUNT",
        'condition="attribute_not_exists(nothing)"',
    ),
    of_payments(
        "a new account is paid at once",
        "DynamoPayees.bind",
        "bound = Payee(account, rebound_at_ms=now_ms if seen else 0)",
        "bound = Payee(account)",
    ),
    of_payments(
        "a repeat of a binding begins to wait again",
        "DynamoPayees.bind",
        "if seen and seen.account.name_hash == account.name_hash:",
        "if False:",
    ),
    of_payments(
        "signing in undoes a user's choice",
        "_bind_first",
        "if payees.find(user_id, channel):",
        "if False:",
    ),
    # Consent
    of_payments(
        "a consent outlives its account",
        "DynamoPayees._binding",
        "if seen.asked_no:",
        "if False:",
    ),
    of_payments(
        "transfers use a consent that the account does not name",
        "NAMES_IT",
        "asked_no = :number",
        "attribute_exists(pk)",
    ),
    of_payments(
        "a callback is a consent",
        "authorize:_take",
        "elif found.state is AuthorizationState.ACTIVE:",
        "elif found.state is not AuthorizationState.CLOSED:",
    ),
    of_payments(
        "another user's consent is used",
        "_is_of_another",
        "return is_other and seen.status is not AuthorizationStatus.CLOSING",
        "return False",
    ),
    of_payments(
        "a consent that was not found yet counts as ended",
        "authorize:_take",
        "and is_over",
        "",
    ),
    of_payments(
        "a consent is asked for while it is ended as missing",
        "authorize:_bring_up",
        "if is_old or current.status is AuthorizationStatus.ACTIVE:",
        "if current.status is AuthorizationStatus.ACTIVE:",
    ),
    of_payments(
        "a consent that was ended here stays at the gateway",
        "look_at_authorization",
        "if seen.status is AuthorizationStatus.CLOSING:",
        "if False:",
    ),
    of_payments(
        "a consent that the gateway refuses is used on",
        "transfer:_act",
        "if verdict is Verdict.STOP_NOT_AUTHORIZED and seen.authorization_no:",
        "if False:",
    ),
    of_payments(
        "a consent that always fails holds up all others",
        "look_at_authorization",
        "ports.book.look_again(number, next_look_ms(seen, ports.clock.now_ms()))",
        "pass",
    ),
    # Withdrawals
    of_payments(
        "money comes back by a judgement of before another call",
        "IS_AS_SEEN",
        " AND lease_until_ms = :lease",
        "",
    ),
    of_payments(
        "a withdrawal that has ended goes on",
        "IS_AS_SEEN",
        "attribute_not_exists(ended_at_ms) AND ",
        "",
    ),
    of_payments(
        "a withdrawal is called after it was stopped",
        "DynamoWithdrawals.lease",
        'f"{IS_AS_SEEN} AND {IS_NOT_STOPPED}"',
        "IS_AS_SEEN",
    ),
    of_payments(
        "a second worker calls while the first may",
        "DynamoWithdrawals.lease",
        "now_ms < seen.lease_until_ms",
        "False",
    ),
    of_payments(
        "what came back is posted",
        "HAS_NOT_ENDED",
        "attribute_not_exists(ended_at_ms) AND ",
        "",
    ),
    of_payments(
        "a worker that stalled past its lease calls",
        "call_transfer",
        "if clock.now_ms() >= leased.lease_until_ms:",
        "if False:",
    ),
    of_payments(
        "a missing bill is final while a stalled function lives",
        "settled_after_ms",
        "withdrawal.lease_until_ms + FUNCTION_MS + CLOCKS_DIFFER_MS + settling_ms",
        "withdrawal.lease_until_ms + settling_ms",
    ),
    of_payments(
        "a missing bill is final before it can be found",
        "settled_after_ms",
        "withdrawal.lease_until_ms + FUNCTION_MS + CLOCKS_DIFFER_MS + settling_ms",
        "withdrawal.lease_until_ms + FUNCTION_MS",
    ),
    of_payments(
        "a missing bill comes back although it may still be called",
        "_judge_missing",
        "if withdrawal.stop is None:",
        "if False:",
    ),
    of_payments(
        "a new number is taken before the first one is over",
        "_judge_missing",
        "if now_ms < settled_after_ms(withdrawal, settling_ms):",
        "if withdrawal.stop is not Stop.NOT_AUTHORIZED"
        " and now_ms < settled_after_ms(withdrawal, settling_ms):",
    ),
    of_payments(
        "a refusal is believed without a query",
        "_judge_refusal",
        "return Verdict.STOP_REFUSED",
        "return Verdict.RETURN_FAILED",
    ),
    of_payments(
        "a cancel is believed before the gateway has spoken",
        "transfer:cancel_withdrawal",
        "if seen.call_count == 0:",
        "if True:",
    ),
    of_payments(
        "a bill of another amount is posted",
        "withdrawals:_check_same",
        '("amount", withdrawal.amount_fen, found.amount_fen),',
        "",
    ),
    of_payments(
        "a bill to another payee is posted",
        "withdrawals:_check_same",
        '("payee", withdrawal.payee.name_hash, found.payee_hash),',
        "",
    ),
    of_payments(
        "a user withdraws as often as they like",
        "IS_WITHIN_LIMITS",
        "withdrawn_count < :count_max AND ",
        "",
    ),
    of_payments(
        "a user withdraws as much as they like",
        "IS_WITHIN_LIMITS",
        " AND withdrawn_fen <= :room_fen",
        "",
    ),
    of_payments(
        "an amount below the smallest transfer is held",
        "withdraw:_check",
        "if ask.amount_fen < settings.fen_min:",
        "if False:",
    ),
    of_payments(
        "an amount above the largest transfer is held",
        "withdraw:_check",
        "if ask.amount_fen > settings.fen_max:",
        "if False:",
    ),
    of_payments(
        "who owes money withdraws it",
        "withdraw:withdraw",
        "if collect_owed(ask.user_id, ports=payments):",
        "if False:",
    ),
    of_payments(
        "what comes back counts against the day",
        "DynamoWithdrawals.give_back",
        "minus_fen=-seen.amount_fen",
        "minus_fen=0",
    ),
    of_payments(
        "a withdrawal is held for ever",
        "_give_up",
        "return ports.book.stop(",
        "return seen\n    return ports.book.stop(",
    ),
    # Balances that are paid out by themselves
    of_payments(
        "a cause pays out as often as it is told",
        "withdraw_above",
        "request = Request(user_id, key_hash, key_hash)",
        "request = Request(user_id, f'{key_hash}{balance_fen}', key_hash)",
    ),
    of_payments(
        "a balance that its owner must confirm is held by itself",
        "withdraw_above",
        "payee is None or (channel is Channel.WECHAT and not payee.authorization_no)",
        "payee is None",
    ),
    of_payments(
        "a balance below the threshold is paid out by itself",
        "withdraw_above",
        "if balance_fen < max(above_fen, ports.settings.fen_min):",
        "if balance_fen < ports.settings.fen_min:",
    ),
    of_payments(
        "a claim that can't be announced is never announced",
        "settle_claims:_announce",
        "return {share.ref for share in paid}",
        "return set()",
    ),
    of_payments(
        "balances are paid out while withdrawals are off",
        "take_callback:follow_notice",
        "if may_withdraw():",
        "if True:",
    ),
    # What waits for a person
    of_payments(
        "a return that failed at the gateway is in no list",
        "DynamoReturns.list_return",
        "list_pk = :list_pk, list_sk = :list_sk",
        "noted_again = :list_pk, noted_by = :list_sk",
    ),
    of_payments(
        "debts that were paid are listed",
        "list_debts",
        "if debts_fen[refund.user_id] > 0",
        "",
    ),
    # Pace
    of_payments(
        "slots are taken twice", "IS_STILL_THERE", "next_us = :seen_us", "attribute_exists(pk)"
    ),
    of_payments(
        "calls are made at night",
        "Pace.open_from_ms",
        "return self.night.open_from_ms(at_ms) if self.night else at_ms",
        "return at_ms",
    ),
    of_payments(
        "calls come faster than the gateway allows",
        "Pace.interval_us",
        "-(-60_000_000 // self.bills_per_minute)",
        "-(-30_000_000 // self.bills_per_minute)",
    ),
    of_payments(
        "a gateway that fails is never left in peace",
        "dispatch:dispatch",
        "if failed_in_a_row >= FAILURES_MAX:",
        "if False:",
    ),
    # Callbacks and bills
    of_payments(
        "a callback is noted before it is queued",
        "take_callback",
        "queue.put(channel, notice)\n    book.note_notice(",
        "book.note_notice(channel, notice.notice_id, now_ms + KEPT_MS)\n"
        "    queue.put(channel, notice)\n    book.note_notice(",
    ),
    of_payments(
        "a bill may lack lines",
        "compare_bill",
        "found += comparison.twice(bill) + comparison.missing_in_bill(bill)",
        "found += comparison.twice(bill)",
    ),
    of_payments(
        "a bill may name a line twice",
        "compare_bill",
        "found += comparison.twice(bill) + comparison.missing_in_bill(bill)",
        "found += comparison.missing_in_bill(bill)",
    ),
    of_payments(
        "a bill's other amounts are not seen",
        "compare_bills:_said",
        "return _name(line), line.amount_fen",
        "return _name(line), 0",
    ),
    of_payments(
        "the sum of all accounts leaves out the outside",
        "lines:held_fen",
        "return -sum(",
        "return 0 * sum(",
    ),
]

/** Parser for a file of users: valid ids from the first column, and invalid lines. */

import { HOST_ID } from "../api/limits.ts";

const USER = new RegExp(HOST_ID);

export interface UserFile {
  users: string[];
  /** Invalid ids, with their line numbers. */
  bad: { line: number; text: string }[];
}

/** Reads the first column of a CSV file, and skips a header such as "user". */
export function readUsers(text: string): UserFile {
  const users = new Set<string>();
  const bad: UserFile["bad"] = [];
  text.replace(/^\uFEFF/, "").split(/\r\n|\r|\n/).forEach((line, at) => {
    const cell = /^\s*(?:"([^"]*)"|([^,;\t]*))/.exec(line)!;
    const user = (cell[1] ?? cell[2] ?? "").trim();
    if (!user || (at === 0 && /^(user|user_id|host_id|用户)$/i.test(user))) return;
    if (USER.test(user)) users.add(user);
    else bad.push({ line: at + 1, text: user });
  });
  return { users: [...users], bad };
}

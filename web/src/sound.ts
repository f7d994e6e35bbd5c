/** Synthesized sound of a coin. It is off until the user turns it on for this device. */

import { device } from "./store.ts";

const SLOT = "redpacket.sound";
/** Notes of a coin: frequency in Hz and start in seconds. */
const NOTES = [
  [988, 0],
  [1319, 0.08],
] as const;
const VOLUME = 0.12;

let context: AudioContext | undefined;

export function isSoundOn(): boolean {
  return device.getItem(SLOT) === "on";
}

export function turnSound(isOn: boolean): void {
  device.setItem(SLOT, isOn ? "on" : "off");
  if (isOn) playCoin();
}

/** Plays a coin if the sound is on. *isBest* adds a higher note. */
export function playCoin(isBest = false): void {
  if (!isSoundOn() || !("AudioContext" in globalThis)) return;
  context ??= new AudioContext();
  void context.resume();
  note(context, NOTES[0][0], NOTES[0][1]);
  note(context, NOTES[1][0], NOTES[1][1]);
  if (isBest) note(context, 1568, 0.24);
}

function note(audio: AudioContext, hz: number, delayS: number): void {
  const atS = audio.currentTime + delayS;
  const tone = new OscillatorNode(audio, { type: "triangle", frequency: hz });
  const volume = new GainNode(audio, { gain: 0 });
  volume.gain.setValueAtTime(VOLUME, atS);
  volume.gain.exponentialRampToValueAtTime(0.001, atS + 0.3);
  tone.connect(volume).connect(audio.destination);
  tone.start(atS);
  tone.stop(atS + 0.3);
}

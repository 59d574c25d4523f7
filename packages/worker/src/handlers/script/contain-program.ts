/**
 * Contains a script in one step, where perl is installed (Debian and its descendants always have it): what the chain of setpriv, unshare,
 * sh, mount, setpriv, prlimit and sh does, without the cost of starting each of them. Any step that fails ends it before the script
 * starts. It gets the variables of the script by a descriptor and has none of them itself, since some change what perl does. Descriptors
 * above that one are closed first: whoever started the server may have left some open, and no script is to read or write them.
 */

import { asWords, type HiddenPath, UNREACHABLE } from './hidden-paths.ts';

const PERL = '/usr/bin/perl';
/** unshare, mount, prctl, prlimit64, capset: perl calls them by number. Where they are not known, the chain does it. */
const CALLS: Partial<Record<NodeJS.Architecture, readonly number[]>> = {
  x64: [272, 165, 157, 302, 126],
  arm64: [97, 40, 167, 261, 91],
};
/** Of Linux on these: its number for each limit. */
const LIMIT = { cpu: 0, fsize: 1, data: 2, core: 4, nproc: 6, nofile: 7 } as const;
const NOT_CONTAINED = 125;
/** The same number everywhere. Kernels before 5.9 do not know it: there each descriptor is closed by itself. */
const CLOSE_RANGE = 436;
/** Of Linux: a descriptor that names a folder, whoever renames it. */
const [O_PATH, O_DIRECTORY] = [0x200000, process.arch === 'arm64' ? 0x4000 : 0x10000];

/**
 * Three processes, as the chain has: one outside that ends with whoever started it, the first of the namespace, and the script. The first
 * of the namespace has no rights left when the script starts, and tells what its children used as `times` of a shell does.
 */
const PROGRAM = String.raw`
my ($unshare, $mount, $prctl, $prlimit, $capset) = map { $_ + 0 } splice @ARGV, 0, 5;
my ($merge, $limits, $hidden) = splice @ARGV, 0, 3;
my @limits = splice @ARGV, 0, $limits;
my @hidden = map { [splice @ARGV, 0, 4] } 1 .. $hidden;
sub give_up { syswrite STDERR, "the script cannot be contained: $_[0]" . ($! ? ": $!" : '') . "\n"; exit ${NOT_CONTAINED} }
sub call { my $what = shift; my $answer = syscall(shift, @_); give_up($what) if $answer == -1; $answer }
sub put { my ($path, $text) = @_; my $file; open($file, '>', $path) && defined(syswrite $file, $text) or give_up($path) }
sub mount_at { my ($what, $at, $type, $flags, $data) = @_; call("mount $at", $mount, $what, $at, $type, $flags, $data) }
if (syscall(${CLOSE_RANGE}, 5, 0xffffffff, 0) == -1) {
  opendir(my $open, '/proc/self/fd') or give_up('descriptors');
  my @open = grep { /^\d+$/ && $_ > 4 } readdir $open;
  closedir $open;
  for (@open) { my $file; close $file if open($file, '<&=', $_) || open($file, '>&=', $_) }
}
open(my $last, '+<&=', 4) or give_up('descriptor');
sub take { my ($size, $text) = (shift, '');
  while (length $text < $size) { sysread($last, $text, $size - length $text, length $text) or give_up('variables') } $text }
my $variables = take(unpack 'N', take(4));
my ($user, $group) = ($> + 0, (split ' ', $))[0] + 0);
call('no_new_privs', $prctl, 38, 1, 0, 0, 0);
call('unshare', $unshare, 0x10000000 | 0x20000000 | 0x08000000 | 0x00020000);
put('/proc/self/setgroups', 'deny');
put('/proc/self/uid_map', "$user $user 1");
put('/proc/self/gid_map', "$group $group 1");
call('pdeathsig', $prctl, 1, 9, 0, 0, 0);
my $first = fork; defined $first or give_up('fork');
if ($first) {
  $SIG{$_} = 'IGNORE' for 'INT', 'TERM';
  waitpid $first, 0;
  kill $? & 127, $$ if $? & 127;
  exit $? >> 8;
}
call('pdeathsig', $prctl, 1, 9, 0, 0, 0);
mount_at('none', '/', 0, 16384 | 262144, 0);
mount_at('proc', '/proc', 'proc', 14, 0);
mount_at('none', '/dev/shm', 'tmpfs', 6, 'size=64m,mode=1777') if -d '/dev/shm';
sysopen(my $here, '.', ${O_PATH} | ${O_DIRECTORY}) or give_up('working directory');
sub moved { $! = 0; give_up("$_[0], which is hidden from scripts, is not where it was") }
for (@hidden) {
  my ($folder_is, $folder, $name, $itself_is) = @$_;
  my ($is_known, $path) = ($folder_is ne '${UNREACHABLE}', "$folder/$name");
  if ($is_known) {
    sysopen(my $held, $folder, ${O_PATH} | ${O_DIRECTORY}) or moved($path);
    join(':', (stat $held)[0, 1]) eq $folder_is or moved($path);
    chdir $held or give_up($folder);
  }
  my $at = $is_known ? $name : $path;
  if (my @is = stat $at) {
    moved($path) if $is_known && $itself_is ne '' && "$is[0]:$is[1]" ne $itself_is;
    if (-d _) { mount_at('none', $at, 'tmpfs', 1, 'size=4k,mode=0') }
    else { mount_at('/dev/null', $at, 0, 4096, 0) }
  }
  elsif ($is_known) { moved($path) if $itself_is ne ''; give_up($path) if $! != 2 }
}
chdir $here or give_up('working directory');
close $here;
call('ambient', $prctl, 47, 4, 0, 0, 0);
for my $right (0 .. 63) {
  next if syscall($prctl, 24, $right, 0, 0, 0) != -1;
  give_up('bounding set') if $right == 0 || $! != 22;
  last;
}
my ($header, $none) = (pack('LL', 0x20080522, 0), pack('L6', (0) x 6));
call('capset', $capset, $header, $none);
if (open(my $score, '>', '/proc/self/oom_score_adj')) { syswrite $score, '500' }
for (@limits) {
  my ($which, $soft, $hard) = map { $_ + 0 } split ':';
  my $both = pack('QQ', $soft, $hard);
  call("limit $which", $prlimit, 0, $which, $both, 0);
}
my $script = fork; defined $script or give_up('fork');
if (!$script) {
  open(STDERR, '>&', 1) or give_up('stderr') if $merge;
  %ENV = map { split /=/, $_, 2 } split /\0/, $variables;
  my ($program) = @ARGV;
  fcntl($last, 2, 1) or give_up('descriptor');
  exec {$program} @ARGV;
  my $code = $! + 0;
  syswrite $last, "!$code $!" if $code == 7;
  syswrite STDERR, "$program: $!\n";
  exit($code == 2 ? 127 : 126);
}
$variables = '';
{ my $ended = waitpid -1, 0; redo if $ended != -1 && $ended != $script }
my $end = $?;
my @used = times;
syswrite $last, sprintf "%s %s\n%s %s\n", map { sprintf '%dm%.3fs', int($_ / 60), $_ - 60 * int($_ / 60) } @used;
exit($end & 127 ? 128 + ($end & 127) : $end >> 8);
`;

export type LimitName = keyof typeof LIMIT;

/** Undefined: not on this kind of machine. The script gets its variables from `asVariables`. */
export function containCommand({
  limits,
  hidden,
  mergeOutput,
  command,
}: {
  /** Soft and hard. */
  readonly limits: readonly (readonly [LimitName, number, number])[];
  readonly hidden: readonly HiddenPath[];
  readonly mergeOutput: boolean;
  readonly command: readonly string[];
}): string[] | undefined {
  const calls = CALLS[process.arch];
  if (!calls) return undefined;
  const numbers = [...calls, mergeOutput ? 1 : 0, limits.length, hidden.length].map(String);
  const set = limits.map(([name, soft, hard]) => `${LIMIT[name]}:${soft}:${hard}`);
  return [PERL, '-f', '-e', PROGRAM, '--', ...numbers, ...set, ...hidden.flatMap(asWords), ...command];
}

/** To be written to descriptor 4. */
export function asVariables(env: Readonly<Record<string, string>>): Buffer {
  const text = Buffer.from(
    Object.entries(env)
      .map(([name, value]) => `${name}=${value}`)
      .join('\0'),
  );
  const size = Buffer.alloc(4);
  size.writeUInt32BE(text.byteLength);
  return Buffer.concat([size, text]);
}

/** Undefined unless the script could not be started, which is told before what was used. */
export function notStartedBy(said: string): NodeJS.ErrnoException | undefined {
  const [, code, message] = /^!(\d+) (.*)/.exec(said) ?? [];
  if (code === undefined) return undefined;
  return Object.assign(new Error(message), { code: 'E2BIG' });
}

#!/bin/bash
# Perl: interpreter threads, each with a whole interpreter of its own, forks,
# pipes and a heap of many small values.
# The harness is found beside this file, and programs are quoted for other shells:
# shellcheck disable=SC1091,SC2154,SC2016
. "$(dirname "$0")/real.sh"
require perl

if perl -MConfig -e 'exit !$Config{usethreads}'; then
    same "perl starts interpreter threads" perl "$programs/threads.pl"
    same -x 3 -e -q "perl exits from a thread" perl -Mthreads -e 'my $t = threads->create(sub { $| = 1; exit 3 }); $t->join; sleep 9'
else
    skip "perl starts interpreter threads" "this perl is built without threads"
    skip "perl exits from a thread" "this perl is built without threads"
fi
same "perl forks children and collects them" perl -e '
    my (@p, $t); for my $i (1 .. 20) { my $k = fork; if (!$k) { my $s = "x" x ($i * 100000); exit length($s) / 100000 } push @p, $k }
    for (@p) { waitpid $_, 0; $t += $? >> 8 } print "$t\n", `echo " q"`;
    open my $f, "-|", "seq 5000" or die; my $n = 0; $n += $_ while <$f>; close $f; print "$n\n";
    open my $o, "|-", "wc -c" or die; print $o "y" x 300000; close $o'
same "perl fills and empties hashes, arrays and strings" perl -e '
    my %h; $h{"k$_"} = [1 .. $_ % 20] for 1 .. 60000; delete $h{"k$_"} for grep { $_ % 3 } 1 .. 60000;
    my $n = 0; $n += @{ $h{$_} } for keys %h; print scalar(keys %h), " $n\n";
    my $s = join ",", sort { $a <=> $b } map { ($_ * 7919) % 100003 } 1 .. 60000; print length $s, "\n";
    (my $t = $s) =~ s/(\d)(\d)/$2$1/g; print unpack("%32C*", $t), "\n"; my $x = ""; $x .= "ab" x $_ for 1 .. 2000; print length $x, "\n";
    my @l = map { { id => $_, name => "n$_" } } 1 .. 20000; splice @l, 100, 15000; print scalar(@l), " $l[-1]{name}\n"; print scalar(() = $s =~ /1(?=2)/g), "\n"'
same "perl destroys objects at the end" perl -e '
    package A; sub new { bless { n => $_[1], b => "z" x 5000 } } sub DESTROY { $main::d++; print "last\n" if $_[0]{n} == 7 }
    package main; { my @a = map { A->new($_ + 100) } 1 .. 500 } print "$d\n"; our $keep = A->new(7); my $c = A->new(8); $c->{me} = $c; eval q{die { code => 5 }}; print "$@->{code}\n"; for (1 .. 300) { eval "sub f$_ { $_ * 2 }" } print f150(), "\n"'
same "perl takes signals while it allocates" perl -e '
    my $n = 0; $SIG{ALRM} = sub { $n++; my @x = (1 .. 100) }; use Time::HiRes qw(setitimer ITIMER_REAL); setitimer(ITIMER_REAL, .001, .001);
    my @k; my $i = 0; while ($n < 100) { push @k, "x" x (++$i % 3000); @k = () if @k > 500 } setitimer(ITIMER_REAL, 0); print "done\n"'
same -x 255 "perl dies" perl -e 'print "before\n"; die "on purpose\n"'
finish
